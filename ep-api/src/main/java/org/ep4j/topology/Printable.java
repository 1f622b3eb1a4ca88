package org.ep4j.topology;

import java.util.Locale;

/** Text from files of other people, in a form that a terminal shows and does not obey. */
public final class Printable {
    private Printable() {}

    /**
     * Escapes every character that a terminal may take as an order, or that shows itself as something else: controls (C0, C1),
     * formats such as U+202E, ends of lines, and what is no character. {@code \n} becomes a backslash, a u and four digits, too.
     */
    public static String of(String text) {
        return escaped(text, false);
    }

    /** As {@link #of}, for text of several lines: tabs and line feeds stay, and carriage returns in front of these. */
    public static String lines(String text) {
        return escaped(text, true);
    }

    private static String escaped(String text, boolean lines) {
        if (text.chars().allMatch(unit -> unit >= 0x20 && unit < 0x7f)) {
            return text;
        }
        StringBuilder plain = new StringBuilder(text.length());
        for (int at = 0; at < text.length(); at += Character.charCount(text.codePointAt(at))) {
            int character = text.codePointAt(at);
            boolean end = lines && (character == '\n' || character == '\t' || text.startsWith("\r\n", at));
            if (end || shown(character)) {
                plain.appendCodePoint(character);
            } else {
                plain.append(String.format(Locale.ROOT, character > 0xffff ? "\\U%08x" : "\\u%04x", character));
            }
        }
        return plain.toString();
    }

    private static boolean shown(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> false;
            default -> true;
        };
    }
}
