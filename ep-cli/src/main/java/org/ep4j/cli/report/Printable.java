package org.ep4j.cli.report;

import java.util.Locale;

/**
 * Text from files and arguments, made fit for a terminal: control characters, and characters that change the direction of text or
 * end lines, are written as {@code \u009b}.
 */
public final class Printable {
    private static final int SHOWN = 80;

    private Printable() {}

    /** The same with escapes; line feeds and tabs stay. */
    public static String text(String text) {
        return escaped(text, true);
    }

    /** The same with escapes, also of line feeds and tabs. */
    public static String line(String text) {
        return escaped(text, false);
    }

    /** As a message has a piece of a file: on one line, and no longer than 80 characters. */
    public static String shortened(String text) {
        return line(text.length() > SHOWN ? text.substring(0, SHOWN) + "..." : text);
    }

    /** As {@link #shortened}, in quotation marks. */
    public static String quote(String text) {
        return "\"" + shortened(text) + "\"";
    }

    private static String escaped(String text, boolean lines) {
        StringBuilder result = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean pair = Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1));
            if (pair) {
                result.append(c).append(text.charAt(i + 1));
                i++;
            } else if (lines && (c == '\n' || c == '\t')) {
                result.append(c);
            } else if (odd(c)) {
                result.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
            } else {
                result.append(c);
            }
        }
        return result.toString();
    }

    private static boolean odd(char c) {
        return Character.isISOControl(c)
                || Character.isSurrogate(c)
                || (c >= '\u202a' && c <= '\u202e')
                || (c >= '\u2066' && c <= '\u2069')
                || c == '\u2028'
                || c == '\u2029';
    }
}
