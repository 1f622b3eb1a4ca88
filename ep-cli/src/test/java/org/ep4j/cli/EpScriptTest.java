package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./ep} builds when there is something new, with a Maven that only counts how often it is called. */
@Tag("verify")
final class EpScriptTest {
    private static final List<String> TOOLS = List.of(
            "bash",
            "cat",
            "dirname",
            "env",
            "find",
            "flock",
            "grep",
            "head",
            "id",
            "mkdir",
            "mv",
            "readlink",
            "rm",
            "sed",
            "touch");

    @TempDir
    private Path folder;

    private Path tools = Path.of("");

    @BeforeEach
    void copyTheScripts() throws IOException {
        Files.createDirectories(folder.resolve("scripts"));
        Files.createDirectories(folder.resolve("module/src/main"));
        Files.createFile(folder.resolve("pom.xml"));
        for (String script : List.of("ep", "scripts/prerequisites.sh")) {
            Files.copy(Repository.root().resolve(script), folder.resolve(script));
        }
        tools = Files.createDirectories(folder.resolve("tools"));
        for (String tool : TOOLS) {
            for (String path : System.getenv("PATH").split(Pattern.quote(File.pathSeparator), -1)) {
                Path found = Path.of(path, tool);
                if (Files.isExecutable(found) && !Files.exists(tools.resolve(tool))) {
                    Files.createSymbolicLink(tools.resolve(tool), found);
                }
            }
        }
        command(tools, "mvn", "echo built >> \"" + folder.resolve("builds") + "\"");
        Path java = Files.createDirectories(folder.resolve("jdk/bin"));
        command(java, "javac", "");
        command(
                java,
                "java",
                "if [ \"$1\" = -version ]; then echo 'openjdk version \"17.0.1\"' >&2; else echo \"$@\"; fi");
    }

    private static void command(Path where, String name, String script) throws IOException {
        Path file = Files.writeString(where.resolve(name), "#!/bin/sh\n" + script + "\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
    }

    /** Number of builds so far, after one more call. */
    private int buildsAfterACall() throws Exception {
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(
                        tools.resolve("bash").toString(), folder.resolve("ep").toString(), "doctor")
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment()
                .putAll(Map.of("PATH", tools.toString(), "JAVA_HOME", folder + "/jdk", "EP_JAVA_OPTS", ""));
        Process process = builder.start();
        try {
            assertThat(process.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).as(Files.readString(output)).isZero();
        assertThat(Files.readString(output)).contains("-jar", "doctor");
        return Files.readAllLines(folder.resolve("builds")).size();
    }

    @Test
    void aCompilerThatCameAfterTheBuildLeadsToAnotherOne() throws Exception {
        assertThat(buildsAfterACall()).isEqualTo(1);
        assertThat(buildsAfterACall()).isEqualTo(1);
        command(tools, "g++", "");
        assertThat(buildsAfterACall()).isEqualTo(2);
        assertThat(buildsAfterACall()).isEqualTo(2);
        assertThat(Files.readAllLines(folder.resolve("ep-cli/target/quick/build.stamp")))
                .contains("g++");
    }

    /** The headers are those by whose presence the modules build their JNI libraries, here in a folder of the test. */
    @Test
    void aHeaderThatCameAfterTheBuildLeadsToAnotherOneWhereThereIsACompiler() throws Exception {
        lookForHeadersInTheFolder();
        List<String> headers = headersOfModules();
        assertThat(headers).hasSize(2);

        command(tools, "g++", "");
        int builds = 1;
        assertThat(buildsAfterACall()).isEqualTo(builds);
        for (String name : headers) {
            header(name);
            builds++;
            assertThat(buildsAfterACall()).as(name).isEqualTo(builds);
            assertThat(buildsAfterACall()).as(name + ", known by now").isEqualTo(builds);
        }
    }

    /** Headers alone build nothing. */
    @Test
    void aHeaderThatCameWithoutACompilerDoesNot() throws Exception {
        lookForHeadersInTheFolder();
        assertThat(buildsAfterACall()).isEqualTo(1);
        for (String name : headersOfModules()) {
            header(name);
        }
        assertThat(buildsAfterACall()).isEqualTo(1);
    }

    private void lookForHeadersInTheFolder() throws IOException {
        Path script = folder.resolve("scripts/prerequisites.sh");
        Files.writeString(script, Files.readString(script).replace("/usr/include/", folder + "/include/"));
    }

    private void header(String name) throws IOException {
        Path header = folder.resolve("include").resolve(name);
        Files.createDirectories(header.getParent());
        Files.createFile(header);
    }

    /** Reads which headers below {@code /usr/include} the modules look for, relative to that folder. */
    private static List<String> headersOfModules() throws IOException {
        List<String> headers = new ArrayList<>();
        for (String module : List.of("backend-ibrc-multiqp", "backend-efa")) {
            Matcher exists = Pattern.compile("<exists>/usr/include/([^<]+\\.h)</exists>")
                    .matcher(Files.readString(Repository.root().resolve(module).resolve("pom.xml")));
            while (exists.find()) {
                headers.add(exists.group(1));
            }
        }
        return headers;
    }

    @Test
    void aCompilerThatHasGoneDoesNot() throws Exception {
        command(tools, "g++", "");
        assertThat(buildsAfterACall()).isEqualTo(1);
        Files.delete(tools.resolve("g++"));
        assertThat(buildsAfterACall()).isEqualTo(1);
    }

    @Test
    void aNewSourceDoes() throws Exception {
        assertThat(buildsAfterACall()).isEqualTo(1);
        Path source = Files.createFile(folder.resolve("module/src/main/New.java"));
        assertThat(source.toFile().setLastModified(System.currentTimeMillis() + 60_000))
                .isTrue();
        assertThat(buildsAfterACall()).isEqualTo(2);
    }
}
