package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.EpGroup;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** The README says what is so. */
@Tag("verify")
final class ReadmeTest {
    private String readme = "";

    @TempDir
    private Path folder;

    @BeforeEach
    void read() throws IOException {
        readme = Files.readString(Repository.root().resolve("README.md"));
    }

    @Test
    void theExampleRunsAndPrintsWhatTheTextSays() throws Exception {
        Matcher block = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(readme);
        assertThat(block.find()).isTrue();
        Path source = folder.resolve("Example.java");
        Files.writeString(source, block.group(1));
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), source.toString()));
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(process.waitFor(Guard.minutes(2).toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        List<String> printed = Files.readAllLines(output, StandardCharsets.UTF_8);
        assertThat(printed)
                .containsExactlyInAnyOrder(
                        "rank 0 received 8 rows, got back 2.0", "rank 1 received 8 rows, got back 2.0");
        assertThat(readme)
                .contains("It prints `" + printed.stream().sorted().findFirst().orElseThrow() + "`");
    }

    @Test
    void theExampleIsShort() {
        Matcher body = Pattern.compile("static void exchange\\(.*?\\{\n(.*?)\n    }", Pattern.DOTALL)
                .matcher(readme);
        assertThat(body.find()).isTrue();
        assertThat(body.group(1)
                        .lines()
                        .filter(l -> !l.isBlank()
                                && !l.strip().startsWith("//")
                                && !l.strip().equals("}")))
                .hasSizeLessThanOrEqualTo(15);
    }

    @Test
    void theTableOfSettingsIsWhatTheProgramReads() {
        String begin = "<!-- settings: begin (checked by ReadmeTest) -->\n";
        String table =
                readme.substring(readme.indexOf(begin) + begin.length(), readme.indexOf("<!-- settings: end -->"));
        assertThat(table).isEqualTo(settings());
    }

    @Test
    void everyCommandAndOptionIsNamed() {
        new CommandLine(new EpCommand()).getSubcommands().forEach((name, command) -> {
            if (command.getCommandSpec().usageMessage().hidden()) {
                return;
            }
            String line = readme.lines()
                    .filter(l -> l.startsWith("| `./ep " + name))
                    .findFirst()
                    .orElse("");
            assertThat(line).as(name).isNotEmpty();
            for (OptionSpec option : command.getCommandSpec().options()) {
                if (!option.inherited() && !option.usageHelp() && !option.versionHelp()) {
                    String shown = option.negatable() ? option.longestName().substring(2) : option.longestName();
                    assertThat(line).as("%s %s", name, option.longestName()).contains(shown);
                }
            }
        });
    }

    @Test
    void everyExitCodeIsExplainedAsInTheHelp() {
        new CommandLine(new EpCommand())
                .getCommandSpec()
                .usageMessage()
                .exitCodeList()
                .forEach((code, meaning) -> assertThat(readme).contains("| " + code + " | " + meaning + " |"));
    }

    @Test
    void everyBackendOfThisReleaseIsInTheTable() {
        for (EpBackendProvider backend : backends()) {
            assertThat(readme.lines().filter(l -> l.startsWith("| `" + backend.id() + "`")))
                    .singleElement()
                    .asString()
                    .endsWith("| yes |");
        }
    }

    @Test
    void theVersionInTheCoordinatesIsThatOfTheBuild() throws IOException {
        String pom = Files.readString(Repository.root().resolve("pom.xml"));
        Matcher version = Pattern.compile("<artifactId>ep4j-parent</artifactId>\\s*<version>(.*?)</version>")
                .matcher(pom);
        assertThat(version.find()).isTrue();
        assertThat(readme).contains("<version>" + version.group(1) + "</version>");
    }

    private static List<EpBackendProvider> backends() {
        List<EpBackendProvider> all = new ArrayList<>();
        ServiceLoader.load(EpBackendProvider.class, EpGroup.class.getClassLoader())
                .forEach(all::add);
        all.sort(Comparator.comparing(EpBackendProvider::id));
        return all;
    }

    private static String settings() {
        StringBuilder table =
                new StringBuilder("\n| setting | environment | default | value | meaning |\n|---|---|---|---|---|\n");
        List<ConfigKey<?>> keys = new ArrayList<>(EpKeys.all());
        backends().forEach(backend -> keys.addAll(backend.configKeys()));
        for (ConfigKey<?> key : keys) {
            List<String> variables = new ArrayList<>(List.of(key.environmentName()));
            variables.addAll(key.variables());
            table.append("| `" + key.name() + "` | `" + String.join("`, `", variables) + "` | "
                    + (key.defaultText().isEmpty() ? "" : "`" + key.defaultText() + "`") + " | " + key.format() + " | "
                    + key.help() + (key.agreed() ? "; the same on all ranks" : "") + " |\n");
        }
        return table + "\n";
    }
}
