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
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
                .contains("prints `" + printed.stream().sorted().findFirst().orElseThrow() + "`");
    }

    @Test
    void isSmallEnoughToBeRead() {
        assertThat(readme.getBytes(StandardCharsets.UTF_8)).hasSizeLessThanOrEqualTo(7 * 1024);
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
    void everyBackendOfThisReleaseIsInTheTable() {
        for (EpBackendProvider backend : backends()) {
            assertThat(readme.lines().filter(l -> l.matches("\\|[^|]*\\| `" + backend.id() + "` \\|.*")))
                    .as(backend.id())
                    .hasSize(1);
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

    /** The backends that the command contains, by name. */
    static List<EpBackendProvider> backends() {
        List<EpBackendProvider> all = new ArrayList<>();
        ServiceLoader.load(EpBackendProvider.class, EpGroup.class.getClassLoader())
                .forEach(all::add);
        all.sort(Comparator.comparing(EpBackendProvider::id));
        return all;
    }
}
