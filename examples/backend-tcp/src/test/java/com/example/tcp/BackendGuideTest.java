package com.example.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The guide for authors of backends shows this backend as it is. */
@Tag("verify")
final class BackendGuideTest {
    private static final Path GUIDE = Path.of("../../docs/contributing/backend.md");
    private static final Pattern BLOCK = Pattern.compile("(?ms)^ *```(?:java|xml)\n(.*?)^ *```$");
    private static final Pattern PACKAGE = Pattern.compile("\\borg\\.ep4j(\\.[a-z]\\w*)*");

    @Test
    void everySnippetIsInASource() throws IOException {
        List<String> sources = new ArrayList<>();
        for (Path file : sources("src")) {
            sources.add(flat(Files.readString(file)));
        }
        sources.add(flat(Files.readString(Path.of("pom.xml"))));
        List<String> snippets = BLOCK.matcher(Files.readString(GUIDE))
                .results()
                // What stands between two paragraphs may be left out.
                .flatMap(block -> Pattern.compile("\n\n").splitAsStream(flat(block.group(1))))
                .toList();
        assertThat(snippets).hasSizeGreaterThan(15);
        assertThat(snippets.stream().filter(snippet -> sources.stream().noneMatch(source -> source.contains(snippet))))
                .isEmpty();
    }

    /** Snippets are indented otherwise. */
    private static String flat(String text) {
        return text.lines().map(String::strip).collect(Collectors.joining("\n"));
    }

    @Test
    void isNotLongerThanTheGuideSays() throws IOException {
        int lines = 0;
        for (Path file : sources("src/main/java")) {
            lines += Files.readAllLines(file).size();
        }
        assertThat(lines).isBetween(200, 300);
    }

    @Test
    void namesOnlyPackagesForBackends() throws IOException {
        Set<String> named = new TreeSet<>();
        for (Path file : sources("src/main/java")) {
            PACKAGE.matcher(Files.readString(file)).results().forEach(found -> named.add(found.group()));
        }
        assertThat(named)
                .containsExactly(
                        "org.ep4j",
                        "org.ep4j.config",
                        "org.ep4j.plan",
                        "org.ep4j.plan.offer",
                        "org.ep4j.spi",
                        "org.ep4j.transport",
                        "org.ep4j.transport.posted");
    }

    private static List<Path> sources(String folder) throws IOException {
        try (Stream<Path> all = Files.walk(Path.of(folder))) {
            return all.filter(file -> file.toString().endsWith(".java")).toList();
        }
    }
}
