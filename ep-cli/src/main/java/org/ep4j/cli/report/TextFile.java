package org.ep4j.cli.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.Json;

/** Text that a command writes to a file that the user named. */
public final class TextFile {
    private TextFile() {}

    /** Writes {@code value} as JSON for people, too; see {@link #write}. */
    public static void writeJson(Path file, Object value) {
        write(file, Json.of(value));
    }

    /**
     * Checks before a long run that its results can be written in the end.
     *
     * @throws EpUnavailableException when there is no such folder, or the file is one
     */
    public static void checkFolder(Path file) {
        if (Files.isDirectory(file)) {
            throw new EpUnavailableException(
                    "cannot write " + file + ": it is a folder; name a file that can be written");
        }
        Path folder = file.toAbsolutePath().getParent();
        if (folder == null || !Files.isDirectory(folder)) {
            throw new EpUnavailableException(
                    "cannot write " + file + ": there is no such folder; name a file that can be written");
        }
    }

    /** Returns whether a file keeps text: not a pipe or terminal, where one text follows the other. */
    public static boolean keepsText(Path file) {
        return !Files.exists(file) || Files.isRegularFile(file);
    }

    /**
     * Writes as {@link #write} does, but a reader in the meantime, or after this program was killed, has the old text or the new one,
     * where the folder takes another file.
     *
     * @throws EpUnavailableException when it cannot be written
     */
    public static void replace(Path file, String text) {
        if (!keepsText(file)) {
            write(file, text);
            return;
        }
        try {
            Path there = Files.exists(file) ? file.toRealPath() : file.toAbsolutePath();
            Path part = there.resolveSibling(there.getFileName() + ".part");
            Files.writeString(part, ended(text), StandardCharsets.UTF_8);
            Files.move(part, there, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            write(file, text);
        }
    }

    /**
     * Writes UTF-8 that ends with a line feed; an old file is replaced.
     *
     * @throws EpUnavailableException when it cannot be written
     */
    public static void write(Path file, String text) {
        try {
            Files.writeString(file, ended(text), StandardCharsets.UTF_8);
        } catch (NoSuchFileException e) {
            throw new EpUnavailableException(
                    "cannot write " + file + ": there is no such folder; name a file that can be written", e);
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "cannot write " + file + ": " + e + "; name a file that can be written", e);
        }
    }

    private static String ended(String text) {
        return text.endsWith("\n") ? text : text + "\n";
    }
}
