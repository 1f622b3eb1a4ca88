package org.ep4j.cli.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.regex.Pattern;
import org.ep4j.EpArgumentException;
import org.ep4j.topology.Printable;

/**
 * Variables of a process, kept in a file: {@code NAME=VALUE} on lines, as {@code env} prints them, or ended by NUL, as
 * {@code /proc/PID/environ} has them.
 */
public final class EnvironmentFile {
    /** Bytes. Linux gives arguments and environment of a process no more: three quarters of a stack of 8 MiB (fs/exec.c). */
    private static final int MOST_BYTES = 6 << 20;

    private static final String WANTED = "a file with NAME=VALUE on lines, or a copy of /proc/PID/environ";

    private static final Pattern VARIABLE = Pattern.compile("(?s)[A-Za-z_][^=\\s]*=.*");

    /** As {@code env} prints them. */
    private static final Pattern LINE_END = Pattern.compile("\r?\n");

    /** As the kernel has them. */
    private static final Pattern NUL = Pattern.compile("\0");

    private EnvironmentFile() {}

    /**
     * Reads variables; of a name that is there twice the last counts. A line that begins no variable continues the value
     * before it, because {@code env} prints values of several lines so.
     *
     * @throws EpArgumentException when it is no file, cannot be read, is too large or begins otherwise
     */
    public static Map<String, String> read(Path file) {
        String text = text(file);
        boolean nul = text.indexOf('\0') >= 0;
        Map<String, StringBuilder> values = new HashMap<>();
        String last = "";
        for (Iterator<String> entries =
                        (nul ? NUL : LINE_END).splitAsStream(text).iterator();
                entries.hasNext(); ) {
            String entry = entries.next();
            if (VARIABLE.matcher(entry).matches()) {
                int equals = entry.indexOf('=');
                last = entry.substring(0, equals);
                values.put(last, new StringBuilder(entry.substring(equals + 1)));
            } else if (!last.isEmpty() && !entry.isEmpty() && !nul) {
                values.computeIfPresent(
                        last, (name, value) -> value.append('\n').append(entry));
            } else if (!entry.isBlank() && !nul) {
                throw refused(file, "begins with \"" + shown(entry) + "\"", "keep the output of env in it");
            }
        }
        Map<String, String> variables = new HashMap<>();
        values.forEach((name, value) -> variables.put(name, value.toString()));
        return variables;
    }

    private static String text(Path file) {
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            throw refused(
                    file,
                    "is a folder, a pipe, a device or such, which may never end",
                    "write what it gives to a file, and name that");
        }
        byte[] bytes;
        try (var in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MOST_BYTES + 1);
        } catch (IOException e) {
            throw new EpArgumentException(
                    "--env",
                    Printable.of("\"" + file + "\", which cannot be read (" + e + ")"),
                    WANTED,
                    "name a file that is there",
                    e);
        }
        if (bytes.length > MOST_BYTES) {
            throw refused(
                    file,
                    "is larger than " + MOST_BYTES + " bytes, which Linux gives no environment",
                    "name the environment of one process");
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static EpArgumentException refused(Path file, String why, String fix) {
        return new EpArgumentException("--env", Printable.of("\"" + file + "\", which " + why), WANTED, fix);
    }

    private static String shown(String text) {
        return text.length() > 60 ? text.substring(0, 60) + "..." : text;
    }
}
