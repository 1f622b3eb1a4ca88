package org.ep4j.topology.read;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.ep4j.topology.Printable;
import org.ep4j.topology.TopologyException;

/** Reads files that somebody names. What would never end, or takes more memory than a description of a machine, is refused first. */
final class SourceFile {
    /** Bytes. The largest real description seen has 300 thousand. */
    static final int MOST_BYTES = 8 << 20;

    /** Characters of what is no XML: what a tool prints of a machine. */
    private static final int MOST_PRINTED = 4 << 20;

    /** Lines of it: {@code ibv_devinfo -v} prints some hundred for a device with a full table of GIDs. */
    private static final int MOST_LINES = 1 << 16;

    /** Characters of one of its lines: a matrix of 256 columns has some thousand. */
    private static final int LONGEST_LINE = 1 << 14;

    private SourceFile() {}

    /** Refuses the empty path, which is the current folder to Java, and what is not there. */
    static void check(Path file) {
        if (file.toString().isEmpty()) {
            throw new TopologyException(
                    "the name of the file is empty; name a file or folder that describes a machine");
        }
        if (!Files.exists(file)) {
            throw Faults.in(file.toString(), "there is no such file or folder");
        }
    }

    /**
     * Text of a file.
     *
     * @throws TopologyException when it is no file, cannot be read, or is too large or compressed
     */
    static String text(Path file) {
        check(file);
        String source = file.toString();
        if (!Files.isRegularFile(file)) {
            throw Faults.in(
                    source,
                    "is neither a file nor a folder but a pipe, a device or such, which may never end; write what it gives to a"
                            + " file, and name that");
        }
        byte[] bytes;
        try (var in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MOST_BYTES + 1);
        } catch (IOException e) {
            throw new TopologyException(
                    Printable.of(source + ": cannot be read: " + e) + "; name a file that can be read", e);
        }
        if (bytes.length > MOST_BYTES) {
            throw Faults.in(
                    source, "is larger than " + MOST_BYTES + " bytes; descriptions of machines are smaller, name one");
        }
        if (bytes.length > 1 && bytes[0] == 0x1f && bytes[1] == (byte) 0x8b) {
            throw Faults.in(source, "is compressed by gzip; unpack it, and give the file or folder that was in it");
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Refuses what no tool prints of a machine, before it is taken apart. */
    static void checkPrinted(String source, String text) {
        if (text.length() > MOST_PRINTED) {
            throw Faults.in(
                    source,
                    "has " + text.length() + " characters; what tools print of a machine has at most " + MOST_PRINTED
                            + ", name the output of one command");
        }
        int lines = 1;
        int begin = 0;
        for (int at = 0; at <= text.length(); at++) {
            if (at == text.length() || text.charAt(at) == '\n' || text.charAt(at) == '\r') {
                if (at - begin > LONGEST_LINE) {
                    throw Faults.at(
                            source,
                            lines,
                            "the line has " + (at - begin) + " characters; at most " + LONGEST_LINE
                                    + " are read, and no tool prints as many of a machine: name the output of one");
                }
                begin = at + 1;
                lines += at == text.length() ? 0 : 1;
            }
        }
        if (lines > MOST_LINES) {
            throw Faults.in(
                    source,
                    "has " + lines + " lines; what tools print of a machine has at most " + MOST_LINES
                            + ", name the output of one command");
        }
    }
}
