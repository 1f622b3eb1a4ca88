package org.ep4j.cli.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.ep4j.EpUnavailableException;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Text that a command writes to a file that the user named. */
public final class TextFile {
    private TextFile() {}

    /** Writes {@code value} as JSON for people, too; see {@link #write}. */
    public static void writeJson(Path file, Object value) {
        write(
                file,
                JsonMapper.builder()
                        .enable(SerializationFeature.INDENT_OUTPUT)
                        .build()
                        .writeValueAsString(value));
    }

    /**
     * Writes UTF-8 that ends with a line feed; an old file is replaced.
     *
     * @throws EpUnavailableException when it cannot be written
     */
    public static void write(Path file, String text) {
        try {
            Files.writeString(file, text.endsWith("\n") ? text : text + "\n", StandardCharsets.UTF_8);
        } catch (NoSuchFileException e) {
            throw new EpUnavailableException(
                    "cannot write " + file + ": there is no such folder; name a file that can be written", e);
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "cannot write " + file + ": " + e + "; name a file that can be written", e);
        }
    }
}
