package org.ep4j.testing;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Damages texts as accidents and attackers do, to test their readers. */
public final class Mutations {
    private static final Pattern QUOTED = Pattern.compile("\"[^\"\n]{0,200}\"");
    private static final Pattern WORD = Pattern.compile("[^\\s<>=\"|,]+");
    private static final Pattern NUMBER = Pattern.compile("(?<![0-9a-fx])[a-fx]*+[0-9][0-9a-fx]*+");
    private static final Pattern TAG = Pattern.compile("<([a-zA-Z][a-zA-Z0-9]*)(?:\\s[^<>]{0,2000})?>");

    /** Most characters of a repeated piece; longer texts test no more of a reader. */
    private static final int LONGEST = 1 << 20;

    private static final List<String> GARBAGE = List.of(
            "",
            " ",
            "0",
            "-1",
            "1",
            "99999999999999999999",
            "0xffffffffffffffffffff",
            "-2147483648",
            "2147483647",
            "NaN",
            "1e308",
            "fffffff:ff:ff.0",
            "0000:00:00.0",
            "gpu",
            "x".repeat(5000),
            "\u0000",
            "\uffff",
            "é漢",
            "&lt;",
            "&none;",
            "<",
            ">",
            "\"",
            "\t\n",
            "%s%n",
            "../..",
            "0x068000",
            "0x030200",
            "0x020000",
            "4294967296",
            "18446744073709551615",
            "1e999",
            "0000:ff:1f.7",
            "\u001b[31m",
            "\u009b31m",
            "\u202e",
            "\u2028",
            "\ud800",
            "\r",
            "-----",
            "| --- |");

    private Mutations() {}

    /** Returns one of the texts with one to six kinds of damage; in half of the cases XML stays well-formed. */
    public static String of(List<String> texts, Random random) {
        String damaged = texts.get(random.nextInt(texts.size()));
        boolean mild = random.nextBoolean();
        for (int left = 1 + random.nextInt(6); left > 0 && damaged.length() < LONGEST; left--) {
            damaged = mild ? alter(damaged, random) : damage(damaged, texts, random);
        }
        return damaged;
    }

    /** Replaces a value, or removes or repeats an element. */
    private static String alter(String text, Random random) {
        String with = garbage(random).replaceAll("[<>&\"\u0000\uffff]", "");
        return switch (random.nextInt(4)) {
            case 0 -> replace(text, QUOTED, random, '"' + with + '"');
            case 1 -> replace(text, NUMBER, random, with);
            case 2 -> replace(text, QUOTED, random, value(text, random));
            default -> element(text, random);
        };
    }

    /** Returns the text with one kind of damage; {@code others} supply pieces. */
    public static String damage(String text, List<String> others, Random random) {
        if (text.isEmpty()) {
            return garbage(random);
        }
        int from = random.nextInt(text.length());
        int to = Math.min(text.length(), from + 1 + random.nextInt(200));
        return switch (random.nextInt(15)) {
            case 0 -> text.substring(0, from) + (char) random.nextInt(0x180) + text.substring(from + 1);
            case 1 -> text.substring(0, from);
            case 2 -> text.substring(0, from) + text.substring(to);
            case 3 -> text.substring(0, to) + text.substring(from);
            case 4 -> text.substring(0, from) + garbage(random) + text.substring(from);
            case 5 -> lines(text, random, 0);
            case 6 -> lines(text, random, 2);
            case 7 -> lines(text, random, 1 + random.nextInt(300));
            case 8 -> replace(text, QUOTED, random, '"' + garbage(random) + '"');
            case 9 -> replace(text, NUMBER, random, garbage(random));
            case 10 -> nest(text, random);
            case 11 -> swap(text, random);
            case 12 -> words(text, random);
            case 13 -> random.nextInt(20) > 0 ? swap(text, random) : lines(text, random, 1000);
            default -> splice(text, others.get(random.nextInt(others.size())), random);
        };
    }

    /** Repeats a piece, within limits. */
    private static String repeated(String piece, int times) {
        return piece.repeat(Math.min(times, Math.max(1, LONGEST / Math.max(1, piece.length()))));
    }

    /** Returns a quoted value of the text. */
    private static String value(String text, Random random) {
        List<MatchResult> found = QUOTED.matcher(text).results().limit(5000).toList();
        return found.isEmpty()
                ? "\"\""
                : found.get(random.nextInt(found.size())).group();
    }

    private static String garbage(Random random) {
        return GARBAGE.get(random.nextInt(GARBAGE.size()));
    }

    /** Removes a line, or repeats it. */
    private static String lines(String text, Random random, int times) {
        List<String> lines = text.lines().toList();
        if (lines.isEmpty()) {
            return text;
        }
        int which = random.nextInt(lines.size());
        StringBuilder result = new StringBuilder();
        for (int i = 0; i < lines.size(); i++) {
            result.append(repeated(lines.get(i) + "\n", i == which ? times : 1));
        }
        return result.toString();
    }

    private static String replace(String text, Pattern pattern, Random random, String with) {
        List<MatchResult> found = pattern.matcher(text).results().limit(5000).toList();
        if (found.isEmpty()) {
            return text;
        }
        MatchResult match = found.get(random.nextInt(found.size()));
        return text.substring(0, match.start()) + with + text.substring(match.end());
    }

    /** Swaps two lines. */
    private static String swap(String text, Random random) {
        List<String> lines = new ArrayList<>(text.lines().toList());
        if (!lines.isEmpty()) {
            Collections.swap(lines, random.nextInt(lines.size()), random.nextInt(lines.size()));
        }
        return String.join("\n", lines);
    }

    /** Removes a word, repeats it, or replaces it by another word of the text. */
    private static String words(String text, Random random) {
        List<MatchResult> found = WORD.matcher(text).results().limit(5000).toList();
        if (found.isEmpty()) {
            return text;
        }
        MatchResult word = found.get(random.nextInt(found.size()));
        String with = switch (random.nextInt(3)) {
            case 0 -> "";
            case 1 -> word.group() + " " + word.group();
            default -> found.get(random.nextInt(found.size())).group();
        };
        return text.substring(0, word.start()) + with + text.substring(word.end());
    }

    /** Nests a start tag many times, closed as often or not at all. */
    private static String nest(String text, Random random) {
        List<MatchResult> found = TAG.matcher(text).results().limit(5000).toList();
        if (found.isEmpty()) {
            return text;
        }
        MatchResult tag = found.get(random.nextInt(found.size()));
        int times = 1 << random.nextInt(13);
        String closed = random.nextBoolean() ? repeated("</" + tag.group(1) + ">", times) : "";
        return text.substring(0, tag.start()) + repeated(tag.group(), times) + closed + text.substring(tag.start());
    }

    /** Removes an element of XML with its content, or repeats it. */
    private static String element(String text, Random random) {
        List<MatchResult> found = TAG.matcher(text).results().limit(20_000).toList();
        if (found.isEmpty()) {
            return lines(text, random, random.nextInt(3));
        }
        MatchResult tag = found.get(random.nextInt(found.size()));
        int end = tag.group().endsWith("/>") ? tag.end() : closed(text, tag);
        String element = text.substring(tag.start(), end);
        return text.substring(0, tag.start()) + repeated(element, random.nextInt(4)) + text.substring(end);
    }

    /** Returns the end of the element of a start tag. */
    private static int closed(String text, MatchResult start) {
        String name = start.group(1);
        Matcher tag =
                Pattern.compile("<" + name + "(?:\\s[^<>]*)?>|</" + name + ">").matcher(text);
        int open = 0;
        for (boolean more = tag.find(start.start()); more; more = tag.find()) {
            open += tag.group().startsWith("</") ? -1 : tag.group().endsWith("/>") ? 0 : 1;
            if (open == 0) {
                return tag.end();
            }
        }
        return text.length();
    }

    /** Joins the beginning of one text and the end of another. */
    private static String splice(String text, String other, Random random) {
        int cut = other.isEmpty() ? 0 : random.nextInt(other.length());
        return text.substring(0, random.nextInt(text.length())) + other.substring(cut);
    }
}
