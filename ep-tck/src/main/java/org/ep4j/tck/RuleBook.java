package org.ep4j.tck;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** All rules of the kit, from {@code rules.txt}. */
public final class RuleBook {
    /** Table with the number and title of each chapter, and below it its rules. */
    private static final String TABLE = "rules.txt";

    private static final Pattern CHAPTER = Pattern.compile("\\d+ [^|]+");

    private RuleBook() {}

    /** Returns the rules, by chapter. */
    public static List<Rule> all() {
        return lines().filter(line -> !CHAPTER.matcher(line).matches())
                .map(Rule::parse)
                .toList();
    }

    /** Returns one rule. */
    public static Rule rule(String id) {
        return all().stream()
                .filter(rule -> rule.id().equals(id))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no rule " + id));
    }

    /** Returns the number and title of a chapter. */
    public static String chapter(int number) {
        return lines().filter(line -> line.startsWith(number + " "))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no chapter " + number));
    }

    private static Stream<String> lines() {
        try (InputStream in = RuleBook.class.getResourceAsStream(TABLE)) {
            if (in == null) {
                throw new IllegalStateException(TABLE + " is missing from the jar of ep-tck");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"));
        } catch (IOException e) {
            throw new UncheckedIOException(TABLE + " cannot be read from the jar of ep-tck", e);
        }
    }
}
