package org.ep4j.backend.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;
import org.ep4j.transport.memory.FileSystemStatus;

/**
 * Folder in which the files of shared memory are created.
 *
 * @param path absolute
 */
record ShmFolder(Path path) {
    /** Not agreed by all ranks: the same folder may be mounted at different paths in different containers. */
    static final ConfigKey<Optional<Path>> KEY = ConfigKey.text(
                    "ep.shm.dir",
                    "",
                    "folder for shared memory files, and for the lock files by which ranks detect that a peer has"
                            + " died; empty means /dev/shm if it exists, otherwise the folder for temporary files")
            .map("the path of a folder", text -> text.isBlank() ? Optional.empty() : Optional.of(Path.of(text)));

    private static final Path USUAL = Path.of("/dev/shm");

    /**
     * Returns the folder that the settings name; it need not exist.
     *
     * @throws org.ep4j.EpConfigException when the setting is not a path
     */
    static ShmFolder from(EpConfig config) {
        return new ShmFolder(KEY.get(config).orElseGet(ShmFolder::standard).toAbsolutePath());
    }

    private static Path standard() {
        return Files.isDirectory(USUAL) ? USUAL : Path.of(System.getProperty("java.io.tmpdir", "/tmp"));
    }

    /** Returns why no files can be created here; empty when they can. */
    Optional<String> problem() {
        if (!Files.exists(path)) {
            return Optional.of("the folder " + path + " does not exist");
        }
        if (!Files.isDirectory(path)) {
            return Optional.of(path + " is not a folder");
        }
        if (!Files.isWritable(path) || !Files.isExecutable(path)) {
            return Optional.of("the folder " + path + " is not writable for this user");
        }
        return Optional.empty();
    }

    /** Returns the identity of the folder, whatever its path. */
    FileId id() throws IOException {
        return FileId.status(path).id();
    }

    /**
     * Queries the file system of the folder.
     *
     * @throws IOException when the kernel does not answer
     */
    FileSystemStatus fileSystem() throws IOException {
        return FileSystemStatus.of(path);
    }

    @Override
    public String toString() {
        return path.toString();
    }
}
