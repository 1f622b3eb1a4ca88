package com.example.moe;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Programs of users need two packages only. */
@Tag("verify")
final class ApiOnlyTest {
    private static final Pattern PACKAGE = Pattern.compile("\\borg\\.ep4j(\\.[a-z]\\w*)*");

    @Test
    void scenariosNameOnlyThePackagesForUsers() throws IOException {
        List<Path> sources;
        try (Stream<Path> all = Files.walk(Path.of("src"))) {
            sources = all.filter(file -> file.toString().endsWith(".java")).toList();
        }
        Set<String> named = new TreeSet<>();
        for (Path source : sources) {
            PACKAGE.matcher(Files.readString(source)).results().forEach(found -> named.add(found.group()));
        }
        assertThat(sources).hasSizeGreaterThan(5);
        assertThat(named).containsExactly("org.ep4j", "org.ep4j.gpu");
    }
}
