package org.ep4j.topology.read;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Files as {@code /sys} and {@code /proc} hold them: of the running machine, or of a recording. Paths are absolute inside
 * the tree and begin with a slash. Nothing throws: a file that is missing or unreadable is empty.
 */
public interface FileTree {
    /** Content of a file of up to 1 MiB, without white space at its ends. */
    Optional<String> text(String path);

    /** Content of a file of up to 1 MiB, byte by byte; by default the characters of {@link #text} as bytes. */
    default Optional<byte[]> bytes(String path) {
        return text(path).map(text -> text.getBytes(StandardCharsets.ISO_8859_1));
    }

    /**
     * Text without white space at its ends, and without the zeros that tar appends to a file of {@code /sys} whose
     * content is shorter than its reported size.
     */
    static String stripped(byte[] content) {
        int length = content.length;
        while (length > 0 && content[length - 1] == 0) {
            length--;
        }
        return new String(content, 0, length, StandardCharsets.ISO_8859_1).strip();
    }

    /** Names in a folder, sorted; empty if the folder does not exist. */
    List<String> list(String path);

    /** Path with all links resolved, absolute inside the tree. */
    Optional<String> real(String path);

    /** Target of a link as it is written, even if the target does not exist; empty if {@code path} is not a link. */
    Optional<String> link(String path);

    /** Returns true if {@code path} is a file or a folder. */
    default boolean exists(String path) {
        return real(path).isPresent();
    }

    /** Files below a folder: {@code /} for the running machine. Links that lead out of the folder are missing. */
    static FileTree of(Path root) {
        return FolderTree.of(root);
    }
}
