package org.ep4j.cli.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.ep4j.EpArgumentException;

/**
 * Variables of a process, kept in a file: {@code NAME=VALUE} on lines, as {@code env} prints them, or ended by NUL, as
 * {@code /proc/PID/environ} has them.
 */
public final class EnvironmentFile {
    private EnvironmentFile() {}

    /**
     * Reads variables; of a name that is there twice the last counts. A line that begins no variable continues the value
     * before it, because {@code env} prints values of several lines so.
     *
     * @throws EpArgumentException when it cannot be read or begins otherwise
     */
    public static Map<String, String> read(Path file) {
        String text;
        try {
            text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new EpArgumentException(
                    "--env",
                    file + ", which cannot be read (" + e + ")",
                    "a file with NAME=VALUE on lines, or a copy of /proc/PID/environ",
                    "name a file that is there",
                    e);
        }
        boolean nul = text.indexOf('\0') >= 0;
        Map<String, String> variables = new HashMap<>();
        String last = "";
        for (String entry : text.split(nul ? "\0" : "\r?\n", -1)) {
            if (entry.matches("(?s)[A-Za-z_][^=\\s]*=.*")) {
                int equals = entry.indexOf('=');
                last = entry.substring(0, equals);
                variables.put(last, entry.substring(equals + 1));
            } else if (!last.isEmpty() && !entry.isEmpty() && !nul) {
                variables.merge(last, entry, (before, more) -> before + "\n" + more);
            } else if (!entry.isBlank() && !nul) {
                throw new EpArgumentException(
                        "--env",
                        file + ", which begins with \"" + shown(entry) + "\"",
                        "a file with NAME=VALUE on lines, or a copy of /proc/PID/environ",
                        "keep the output of env in it");
            }
        }
        return variables;
    }

    private static String shown(String text) {
        return text.length() > 60 ? text.substring(0, 60) + "..." : text;
    }
}
