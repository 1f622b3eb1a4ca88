package org.ep4j.backend.host;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Removes files that processes left when they were killed between creating a file and removing its name. */
final class StaleFiles {
    private static final Logger LOG = System.getLogger(StaleFiles.class.getName());

    private StaleFiles() {}

    /**
     * Removes this user's stale files; returns their number.
     *
     * @throws IOException when the folder cannot be listed
     */
    static int sweep(Libc libc, ShmFolder folder) throws IOException {
        int removed = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder.path(), SharedFile.PREFIX + "*")) {
            for (Path path : files) {
                if (isOurs(path, libc.userId()) && removeWhenDead(libc, path)) {
                    removed++;
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return removed;
    }

    static boolean isOurs(Path path, int user) throws IOException {
        try {
            return Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)
                    && FileId.status(path, LinkOption.NOFOLLOW_LINKS).owner() == user;
        } catch (NoSuchFileException e) {
            // Its creator has removed it.
            return false;
        }
    }

    private static boolean removeWhenDead(Libc libc, Path path) {
        try {
            int descriptor = libc.openExisting(path);
            try {
                if (!libc.tryLock(descriptor, path)) {
                    return false;
                }
                libc.remove(path);
            } finally {
                libc.closeDescriptor(descriptor);
            }
            LOG.log(Level.INFO, "removed {0}, which no running process has locked", path);
            return true;
        } catch (Libc.CallException e) {
            // Removed already, or of another user: no reason not to start.
            LOG.log(Level.DEBUG, "did not remove " + path, e);
            return false;
        }
    }
}
