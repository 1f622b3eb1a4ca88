package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every test class and every step belongs to a tier, and docs/contributing/testing.md says to which. */
@Tag("verify")
final class TestTiersTest {
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
    private static final Set<String> TIERS = Set.of("verify", "all", "guest");
    private static final Pattern CLASS_TAG = Pattern.compile("^@Tag\\(\"(\\w+)\"\\)", Pattern.MULTILINE);
    private static final Pattern METHOD_TAG = Pattern.compile("^ +@Tag\\(\"(\\w+)\"\\)", Pattern.MULTILINE);
    private static final Pattern HAS_TESTS =
            Pattern.compile("^ +@(Test|ParameterizedTest|TestFactory|TestTemplate|Property)\\b", Pattern.MULTILINE);
    private static final Pattern STEP = Pattern.compile("^step (?:'([^']+)'|(\\w+)) \"([^\"]+)\"", Pattern.MULTILINE);

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sources of test classes by their simple names. */
    private static Map<String, String> testClasses() throws IOException {
        Map<String, String> sources = new TreeMap<>();
        try (Stream<Path> files = Files.find(
                ROOT,
                12,
                (path, attributes) ->
                        attributes.isRegularFile() && path.toString().matches(".*/src/test/java/.*Test\\.java"))) {
            files.forEach(file -> {
                String name = file.getFileName().toString().replace(".java", "");
                String source = text(file);
                if (!source.contains("abstract class " + name)) {
                    // Modules may have classes of the same name.
                    sources.merge(name, source, (a, b) -> a + "\n" + b);
                }
            });
        }
        return sources;
    }

    private static List<String> found(Pattern pattern, String source) {
        return pattern.matcher(source).results().map(result -> result.group(1)).toList();
    }

    private static String document() {
        return text(ROOT.resolve("docs/contributing/testing.md"));
    }

    @Test
    void everyTestClassHasOneTier() throws IOException {
        Map<String, String> classes = testClasses();
        assertThat(classes).hasSizeGreaterThan(250);
        classes.forEach((name, source) -> {
            int files = source.split("(?m)^package ", -1).length - 1;
            assertThat(found(CLASS_TAG, source))
                    .as("tiers of %s: one of %s for each class, as @Tag before the class", name, TIERS)
                    .hasSize(files)
                    .allMatch(TIERS::contains);
            assertThat(found(METHOD_TAG, source))
                    .as("tags of methods of %s: a method may only leave the class's tier for \"all\"", name)
                    .allMatch("all"::equals);
        });
    }

    /** Surefire would not find them. */
    @Test
    void classesWithTestsAreNamedAsTests() throws IOException {
        try (Stream<Path> files = Files.find(
                ROOT,
                12,
                (path, attributes) -> attributes.isRegularFile()
                        && path.toString().matches(".*/src/test/java/.*\\.java")
                        && !path.toString().endsWith("Test.java"))) {
            assertThat(files.filter(file ->
                            HAS_TESTS.matcher(text(file)).find() && !text(file).contains("abstract class ")))
                    .as("classes with tests whose names do not end in Test")
                    .isEmpty();
        }
    }

    @Test
    void theDocumentListsEveryClassThatVerifyLeavesOut() throws IOException {
        Set<String> left = new TreeSet<>();
        testClasses().forEach((name, source) -> {
            if (!found(CLASS_TAG, source).stream().allMatch("verify"::equals)
                    || !found(METHOD_TAG, source).isEmpty()) {
                left.add(name);
            }
        });
        String document = document();
        Set<String> listed = Pattern.compile("^\\| `(\\w+Test)`", Pattern.MULTILINE)
                .matcher(document)
                .results()
                .map(result -> result.group(1))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(listed).isEqualTo(left);
    }

    @Test
    void theDocumentListsEveryStepWithItsTiers() {
        List<MatchResult> steps =
                STEP.matcher(text(ROOT.resolve("ci/steps"))).results().toList();
        assertThat(steps).hasSizeGreaterThan(10);
        String document = document();
        for (MatchResult step : steps) {
            String tiers = (step.group(1) == null ? step.group(2) : step.group(1)).replace(" ", ", ");
            assertThat(document).contains("| " + step.group(3) + " | " + tiers + " |");
        }
    }
}
