package org.ep4j.topology.model;

import java.util.Locale;

/**
 * Text from files and arguments, made fit for terminals and messages: control characters, lone surrogates, invisible
 * characters, and characters that end lines or change the direction of text are written as {@code \}{@code u009b}.
 */
public final class Printable {
    private static final int SHOWN = 80;

    private Printable() {}

    /** Returns the text with escapes; line feeds and tabs stay. */
    public static String text(String text) {
        return escaped(text, true);
    }

    /** Returns the text with escapes, also for line feeds and tabs. */
    public static String line(String text) {
        return escaped(text, false);
    }

    /** As {@link #line(String)}, but cuts text that is longer than {@code most} characters. */
    public static String line(String text, int most) {
        return escaped(text.length() > most ? text.substring(0, most) + "..." : text, false);
    }

    /**
     * Quotes text of a file or an argument for a message: one line in quotation marks, with at most 80 characters of
     * the text.
     */
    public static String quote(String text) {
        return "\"" + line(text, SHOWN) + "\"";
    }

    private static String escaped(String text, boolean lines) {
        StringBuilder result = new StringBuilder(text.length());
        text.codePoints().forEach(c -> {
            if (!odd(c) || (lines && (c == '\n' || c == '\t'))) {
                result.appendCodePoint(c);
            } else {
                for (char unit : Character.toChars(c)) {
                    result.append(String.format(Locale.ROOT, "\\u%04x", (int) unit));
                }
            }
        });
        return result.toString();
    }

    private static boolean odd(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }
}
