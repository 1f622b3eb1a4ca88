package org.ep4j.cli.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * When {@code ./ep} builds: with a copy of the script beside a few sources, a Maven and a Java that only say that they ran, and a path
 * that holds nothing else but what the script calls.
 */
@Timeout(120)
final class EpScriptTest {
    private static final List<String> TOOLS = List.of(
            "bash",
            "cat",
            "cksum",
            "dirname",
            "env",
            "find",
            "flock",
            "head",
            "id",
            "mkdir",
            "mv",
            "readlink",
            "rm",
            "sed",
            "touch",
            "uname");

    @TempDir
    private Path folder;

    private Path root;
    private Path bin;
    private Path include;

    @BeforeEach
    void repository() throws IOException {
        root = folder.resolve("repository");
        bin = Files.createDirectories(folder.resolve("bin"));
        include = Files.createDirectories(folder.resolve("include"));
        Path real = repositoryRoot();
        Files.createDirectories(root.resolve("scripts"));
        Files.createDirectories(root.resolve("ep-cli/src/main"));
        Files.writeString(root.resolve("pom.xml"), "<project/>");
        Files.copy(real.resolve("ep"), root.resolve("ep"));
        String prerequisites = Files.readString(real.resolve("scripts/prerequisites.sh"));
        assertThat(prerequisites).contains("(/usr/include/infiniband/verbs.h /usr/include/rdma/fabric.h)");
        Files.writeString(
                root.resolve("scripts/prerequisites.sh"), prerequisites.replace("/usr/include", include.toString()));
        for (String tool : TOOLS) {
            for (Path place : List.of(Path.of("/usr/bin"), Path.of("/bin"))) {
                if (Files.isExecutable(place.resolve(tool)) && !Files.exists(bin.resolve(tool))) {
                    program(tool, "exec " + place.resolve(tool) + " \"$@\"");
                }
            }
        }
        program("mvn", "touch ep-cli/target/quick/ep-cli-0.jar; echo build >>" + folder.resolve("builds"));
        program("javac", "true");
        program("java", "if [ \"$1\" = -version ]; then echo 'openjdk version \"17.0.1\"' >&2; else echo ran; fi");
    }

    private static Path repositoryRoot() {
        Path at = Path.of("").toAbsolutePath();
        while (!Files.exists(at.resolve("ep-bom/pom.xml"))) {
            at = at.getParent();
            assertThat(at).as("run from inside the repository").isNotNull();
        }
        return at;
    }

    private void program(String name, String body) throws IOException {
        Path file = Files.writeString(bin.resolve(name), "#!/bin/sh\n" + body + "\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
    }

    /** Number of builds so far, after one more run of the script. */
    private long builds() throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(
                bin.resolve("bash").toString(), root.resolve("ep").toString());
        builder.environment().clear();
        builder.environment().put("PATH", bin.toString());
        Path output = folder.resolve("output");
        Process process = builder.redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        String text = Files.readString(output, StandardCharsets.UTF_8);
        assertThat(process.exitValue()).as(text).isZero();
        assertThat(text).endsWith("ran\n");
        return Files.readAllLines(folder.resolve("builds")).size();
    }

    @Test
    void buildsOnceAndAgainWhenASourceChanges() throws Exception {
        assertThat(builds()).isEqualTo(1);
        assertThat(builds()).isEqualTo(1);
        Path source = Files.writeString(root.resolve("ep-cli/src/main/New.java"), "");
        assertThat(source.toFile().setLastModified(System.currentTimeMillis() + 2000))
                .isTrue();
        assertThat(builds()).isEqualTo(2);
    }

    /** As {@code ./verify} installs them; packages bring files that are older than the build. */
    @Test
    void buildsAgainWhenHeadersOrTheCompilerWereInstalledSince() throws Exception {
        assertThat(builds()).isEqualTo(1);
        header("infiniband/verbs.h", "1");
        assertThat(builds()).isEqualTo(2);
        header("rdma/fabric.h", "1");
        assertThat(builds()).isEqualTo(3);
        program("g++", "true");
        assertThat(builds()).isEqualTo(4);
        header("rdma/fabric.h", "2");
        assertThat(builds()).as("another version of a header").isEqualTo(5);
        assertThat(builds()).isEqualTo(5);
    }

    @Test
    void aBuildOfAnOlderScriptIsMadeAgainWhereThereAreHeaders() throws Exception {
        assertThat(builds()).isEqualTo(1);
        Path stamp = root.resolve("ep-cli/target/quick/build.stamp");
        header("infiniband/verbs.h", "1");
        assertThat(builds()).isEqualTo(2);
        Files.writeString(stamp, "");
        assertThat(builds()).isEqualTo(3);
    }

    private void header(String name, String text) throws IOException {
        Path file = include.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
        assertThat(file.toFile().setLastModified(1_000_000)).isTrue();
    }
}
