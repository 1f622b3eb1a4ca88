package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Links between the documents, and what they have to name. */
@Tag("verify")
final class DocumentsTest {
    private static final Path ROOT = Repository.root();
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern HEADING = Pattern.compile("(?m)^#{1,6} (.+)$");
    private static final Pattern CODE = Pattern.compile("(?ms)^ *```.*?^ *```|`[^`\n]*`");

    @Test
    void everyLinkLeadsToAPageAndAHeading() throws IOException {
        List<String> wrong = new ArrayList<>();
        int links = 0;
        for (Path page : pages()) {
            Matcher link = LINK.matcher(CODE.matcher(Files.readString(page)).replaceAll(""));
            while (link.find()) {
                if (link.group(1).contains("://")) {
                    continue;
                }
                links++;
                String[] parts = link.group(1).split("#", 2);
                Path target = parts[0].isEmpty()
                        ? page
                        : page.resolveSibling(parts[0]).normalize();
                if (!Files.exists(target)
                        || (parts.length > 1 && !anchors(target).contains(parts[1]))) {
                    wrong.add(ROOT.relativize(page) + ": " + link.group(1));
                }
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(links).isGreaterThan(100);
    }

    @Test
    void everyExceptionAndEveryRecourseIsInTheTableOfRecourses() throws IOException {
        String table = Files.readString(ROOT.resolve("docs/guide/failure.md"))
                .lines()
                .dropWhile(line -> !line.startsWith("| `recourse()` |"))
                .takeWhile(line -> line.startsWith("|"))
                .collect(Collectors.joining("\n"));
        List<String> names = new ClassFileImporter()
                .importPackages("org.ep4j").stream()
                        .filter(type -> type.getPackageName().equals("org.ep4j"))
                        .filter(type -> type.isAssignableTo(EpException.class))
                        .map(JavaClass::getSimpleName)
                        .toList();
        assertThat(names)
                .hasSizeGreaterThan(9)
                .allSatisfy(name -> assertThat(table).contains("`" + name + "`"));
        assertThat(EpException.Recourse.values())
                .allSatisfy(recourse -> assertThat(table).contains("| `" + recourse + "` |"));
    }

    @Test
    void everyPageIsInTheIndex() throws IOException {
        Path index = ROOT.resolve("docs/index.md");
        Set<Path> listed = new TreeSet<>(Set.of(index, ROOT.resolve("README.md")));
        LINK.matcher(Files.readString(index))
                .results()
                .forEach(link -> listed.add(index.resolveSibling(link.group(1)).normalize()));
        List<Path> pages = pages();
        pages.removeIf(page -> !page.startsWith(ROOT.resolve("docs")));
        assertThat(listed).containsAll(pages);
    }

    @Test
    void anAnchorIsTheHeadingInLowerCaseWithHyphens() {
        assertThat(anchors("# Which mode\n## `ep.timeout`, and more\n## Which mode\n"))
                .containsExactlyInAnyOrder("which-mode", "eptimeout-and-more", "which-mode-1");
    }

    private static Set<String> anchors(Path page) throws IOException {
        return anchors(Files.readString(page).replaceAll("(?ms)^ *```.*?^ *```", ""));
    }

    /** The anchors that GitHub gives to the headings of a page. */
    private static Set<String> anchors(String text) {
        Set<String> found = new TreeSet<>();
        Map<String, Integer> seen = new HashMap<>();
        HEADING.matcher(text).results().forEach(heading -> {
            String name = heading.group(1)
                    .replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1")
                    .toLowerCase(Locale.ROOT)
                    .replaceAll("[^\\p{L}\\p{N}_ -]", "")
                    .strip()
                    .replace(' ', '-');
            int count = seen.merge(name, 1, Integer::sum) - 1;
            found.add(count == 0 ? name : name + "-" + count);
        });
        return found;
    }

    private static List<Path> pages() throws IOException {
        List<Path> found = new ArrayList<>();
        for (String top : List.of("", "docs", "examples")) {
            try (Stream<Path> files = Files.walk(ROOT.resolve(top), top.isEmpty() ? 1 : 9)) {
                files.filter(file -> file.toString().endsWith(".md")
                                && !file.toString().contains("node_modules")
                                && !file.toString().contains("/target/"))
                        .forEach(found::add);
            }
        }
        return found;
    }
}
