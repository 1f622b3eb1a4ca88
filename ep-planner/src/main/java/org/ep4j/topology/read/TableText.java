package org.ep4j.topology.read;

import java.util.regex.Pattern;

/** Text of tables as people copy it: with colours of a terminal, and with rulers. */
final class TableText {
    /** Sequences of ECMA-48: those that begin with CSI, and those of operating systems, such as links. */
    private static final Pattern ESCAPES = Pattern.compile(
            "(?:\u001b\\[|\u009b)[0-?]*+[ -/]*+[@-~]|\u001b\\][^\u0007\u001b\n]*+(?:\u0007|\u001b\\\\)");

    private static final Pattern RULER = Pattern.compile("[|+:\\s]*[-=]{3}[-=|+:\\s]*");

    private TableText() {}

    /** Removes escape sequences of terminals; a text beyond a limit is refused before memory is taken for its lines. */
    static String clean(String source, String text) {
        if (text.length() > Limits.TEXT) {
            throw Faults.in(source, "has " + text.length() + " characters; the limit for a text is " + Limits.TEXT);
        }
        int lines = 1;
        int start = 0;
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) == '\n' || text.charAt(i) == '\r') {
                lines++;
                start = i + 1;
            } else if (i - start >= Limits.LINE) {
                throw Faults.at(source, lines, "has more than " + Limits.LINE + " characters, the limit for a line");
            }
        }
        if (lines > Limits.LINES) {
            throw Faults.in(source, "has " + lines + " lines; the limit for a text is " + Limits.LINES);
        }
        boolean plain = text.indexOf('\u001b') < 0 && text.indexOf('\u009b') < 0;
        return plain ? text : ESCAPES.matcher(text).replaceAll("");
    }

    /** True for a line that only separates others: {@code -----}, {@code =====}, {@code |---|:--|} of Markdown. */
    static boolean ruler(String line) {
        return RULER.matcher(line).matches();
    }
}
