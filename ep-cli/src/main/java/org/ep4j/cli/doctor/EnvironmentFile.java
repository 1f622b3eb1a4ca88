package org.ep4j.cli.doctor;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.ep4j.EpArgumentException;
import org.ep4j.topology.model.Printable;

/**
 * Variables of a process, kept in a file: {@code NAME=VALUE} on lines, as {@code env} prints them, or ended by NUL, as
 * {@code /proc/PID/environ} has them.
 */
public final class EnvironmentFile {
    /** Bytes. Linux gives a process 6 MiB for arguments and environment with its usual limits. */
    private static final int MOST = 8 << 20;

    private static final String EXPECTED = "a file with NAME=VALUE lines, or a copy of /proc/PID/environ";

    private EnvironmentFile() {}

    /**
     * Reads variables; of a name that is there twice the last counts. A line that begins no variable continues the value
     * before it, because {@code env} prints values of several lines so.
     *
     * @throws EpArgumentException when it cannot be read or begins otherwise
     */
    public static Map<String, String> read(Path file) {
        String text;
        if (file.toString().isEmpty() || (Files.exists(file) && !Files.isRegularFile(file))) {
            throw wrong(file.toString().isEmpty() ? "empty" : file + " (not a regular file)", "name a regular file");
        }
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MOST + 1);
            if (bytes.length > MOST) {
                throw wrong(file + " (larger than " + MOST + " bytes)", "name the right file");
            }
            text = new String(bytes, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new EpArgumentException(
                    "--env",
                    file + " (cannot be read: " + e + ")",
                    EXPECTED,
                    "name an existing file that can be read",
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
                throw wrong(
                        file + " (begins with " + Printable.quote(entry) + ")",
                        "write the output of the command env to this file");
            }
        }
        return variables;
    }

    private static EpArgumentException wrong(String value, String fix) {
        return new EpArgumentException("--env", value, EXPECTED, fix);
    }
}
