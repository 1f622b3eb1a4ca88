package org.ep4j.cli.report;

import java.util.List;

/** Text that is wrapped at blanks, so that reports fit into the width of a terminal. */
public final class Wrapped {
    /** Columns of a report. */
    public static final int COLUMNS = 100;

    private Wrapped() {}

    /**
     * Returns text in lines of at most {@link #COLUMNS} columns, each ended by a line separator. A word that is longer stays whole.
     *
     * @param first what the first line begins with; further lines are indented as far
     * @param text words, separated by white space
     */
    public static String of(String first, String text) {
        return of(first, " ".repeat(first.length()), words(text));
    }

    /** Returns a line as it is where it fits, else wrapped; further lines are two columns further in. */
    public static String line(String line) {
        if (line.length() <= COLUMNS) {
            return line + System.lineSeparator();
        }
        String text = line.stripLeading();
        String indent = " ".repeat(line.length() - text.length());
        return of(indent, indent + "  ", words(text));
    }

    /**
     * Returns text in lines as {@link #of(String, String)} does.
     *
     * @param first what the first line begins with
     * @param indent what further lines begin with
     * @param words what must not be parted; joined by blanks
     */
    public static String of(String first, String indent, List<String> words) {
        StringBuilder lines = new StringBuilder();
        StringBuilder line = new StringBuilder(first);
        boolean empty = true;
        for (String word : words) {
            if (!empty && line.length() + 1 + word.length() > COLUMNS) {
                lines.append(line.toString().stripTrailing()).append(System.lineSeparator());
                line = new StringBuilder(indent);
                empty = true;
            }
            line.append(empty ? "" : " ").append(word);
            empty = false;
        }
        return lines.append(line.toString().stripTrailing())
                .append(System.lineSeparator())
                .toString();
    }

    private static List<String> words(String text) {
        return List.of(text.strip().split("\\s+", -1));
    }
}
