package org.ep4j.topology;

import java.util.Locale;

/**
 * Text from files and arguments, made fit for terminals and messages: control characters, lone surrogates, and characters that end
 * lines or change the direction of text are written as {@code \}{@code u009b}.
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

    /** As {@link #line(String)}; what is longer than {@code most} characters is cut. */
    public static String line(String text, int most) {
        return escaped(text.length() > most ? text.substring(0, most) + "..." : text, false);
    }

    /** A piece of a file or an argument for a message: on one line, in quotation marks, and of 80 characters at most. */
    public static String quote(String text) {
        return "\"" + line(text, SHOWN) + "\"";
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
            } else if (odd(c) && !(lines && (c == '\n' || c == '\t'))) {
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
