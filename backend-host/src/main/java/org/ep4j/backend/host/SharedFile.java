package org.ep4j.backend.host;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.invoke.MethodHandles;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.ThreadLocalRandom;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpTimeoutException;
import org.ep4j.plan.RecordCodec;
import org.ep4j.transport.Deadline;

/**
 * The file behind one rank's symmetric memory, from its creation until peers have mapped it and its name is removed.
 *
 * <p>While the file has a name, its creator holds its lock (flock). The kernel frees the lock when the creator dies, however
 * it dies, so a file whose lock is free is stale. This holds where process ids say nothing: containers that share a
 * folder have ids of their own, and ids are used again.
 */
final class SharedFile {
    /** Prefix of the names of all files; the process id after it is for people. */
    static final String PREFIX = "ep4j-";

    /** Space is reserved in parts, so that a signal (which ends the call) costs little and the deadline is checked. */
    private static final long PART = 64L << 20;

    private static final int ATTEMPTS = 16;

    private static final Logger LOG = System.getLogger(SharedFile.class.getName());

    private final Libc libc;
    private final Path path;
    private final int descriptor;
    private final FileId.Status status;
    private final Mapping mapping;
    private boolean named = true;

    /**
     * Name and identity of a rank's file, as it sends them to its peers.
     *
     * @param name of the file inside the folder, which peers may see at another path
     * @param id which file it must be
     */
    record Announcement(String name, FileId id) {
        static final RecordCodec<Announcement> CODEC =
                new RecordCodec<>(MethodHandles.lookup(), Announcement.class, "the name of its shared memory", 1);

        Announcement {
            if (!name.startsWith(PREFIX) || name.indexOf('/') >= 0) {
                throw new IllegalArgumentException(
                        "it is \"" + name + "\", expected a name beginning with " + PREFIX + " and without a slash");
            }
        }
    }

    private SharedFile(Libc libc, Path path, int descriptor, FileId.Status status, Mapping mapping) {
        this.libc = libc;
        this.path = path;
        this.descriptor = descriptor;
        this.status = status;
        this.mapping = mapping;
    }

    /**
     * Creates a zeroed file whose space is reserved, and maps it. Nothing stays behind when it fails.
     *
     * @throws Libc.CallException when the kernel refuses
     */
    static SharedFile create(Libc libc, ShmFolder folder, long bytes, Deadline deadline) {
        for (int i = 0; i < ATTEMPTS; i++) {
            Path path = folder.path().resolve(newName());
            int descriptor;
            try {
                descriptor = libc.create(path);
            } catch (Libc.CallException e) {
                if (e.error() == Libc.EEXIST) {
                    continue;
                }
                throw e;
            }
            boolean made = false;
            try {
                if (!owned(libc, descriptor, path)) {
                    continue;
                }
                allocate(libc, descriptor, bytes, path, deadline);
                FileId.Status status = FileId.status(descriptor);
                Mapping mapping = new Mapping(libc, libc.map(descriptor, bytes, path), bytes);
                made = true;
                return new SharedFile(libc, path, descriptor, status, mapping);
            } catch (IOException e) {
                throw new EpException(
                        "cannot check the identity of the shared memory file " + path + ": " + e
                                + "; check that /proc is mounted",
                        e);
            } finally {
                if (!made) {
                    discard(libc, path, descriptor);
                }
            }
        }
        throw new EpException("cannot create a shared memory file in " + folder + ": in each of " + ATTEMPTS
                + " attempts, another process locked or removed the new file; set " + ShmFolder.KEY.name()
                + " to a folder of your own");
    }

    private static String newName() {
        return String.format(
                Locale.ROOT,
                "%s%d-%016x",
                PREFIX,
                ProcessHandle.current().pid(),
                ThreadLocalRandom.current().nextLong());
    }

    /** Takes the lock. A sweep between creating and locking the file removes its name, before this check or after it. */
    private static boolean owned(Libc libc, int descriptor, Path path) throws IOException {
        return libc.tryLock(descriptor, path)
                && Files.exists(path, LinkOption.NOFOLLOW_LINKS)
                && FileId.status(path, LinkOption.NOFOLLOW_LINKS)
                        .id()
                        .equals(FileId.status(descriptor).id());
    }

    private static void allocate(Libc libc, int descriptor, long bytes, Path path, Deadline deadline) {
        long done = 0;
        while (done < bytes) {
            if (deadline.passed()) {
                throw new EpTimeoutException(
                        "reserving " + Bytes.text(bytes) + " of shared memory in " + path.getParent()
                                + " had reached only " + Bytes.text(done) + " at the deadline; raise ep.setup-timeout",
                        EpFailure.builder("allocating shared memory", -1)
                                .expected(bytes)
                                .seen(done)
                                .build(),
                        EpException.Recourse.INSTALL);
            }
            long part = Math.min(PART, bytes - done);
            if (libc.allocate(descriptor, done, part, path)) {
                done += part;
            }
        }
    }

    /**
     * Maps the file of a peer.
     *
     * @param announced name and identity that the peer sent
     * @throws Libc.CallException when the kernel refuses
     */
    static Mapping open(Libc libc, ShmFolder folder, Announcement announced, long bytes) {
        Path path = folder.path().resolve(announced.name());
        int descriptor = libc.openExisting(path);
        try {
            FileId.Status found = FileId.status(descriptor);
            FileId.Status expected = new FileId.Status(announced.id(), libc.userId(), bytes);
            if (!found.equals(expected)) {
                throw new EpException(path + " is not the file that the peer made: found " + found + ", expected "
                        + expected + "; set " + ShmFolder.KEY.name() + " to a folder that no other user can write");
            }
            return new Mapping(libc, libc.map(descriptor, bytes, path), bytes);
        } catch (IOException e) {
            throw new EpException(
                    "cannot check the identity of the shared memory file " + path + ": " + e
                            + "; check that /proc is mounted",
                    e);
        } finally {
            libc.closeDescriptor(descriptor);
        }
    }

    /** Returns the name and identity by which peers find this file. */
    Announcement announcement() {
        return new Announcement(path.getFileName().toString(), status.id());
    }

    Mapping mapping() {
        return mapping;
    }

    /** Removes the name, and with it every trace that a crash could leave. Mappings stay. A second call does nothing. */
    synchronized void removeName() {
        if (named) {
            named = false;
            discard(libc, path, descriptor);
        }
    }

    private static void discard(Libc libc, Path path, int descriptor) {
        try {
            libc.remove(path);
        } catch (Libc.CallException e) {
            LOG.log(Level.WARNING, "the shared memory file " + path + " could not be removed; remove it by hand", e);
        } finally {
            libc.closeDescriptor(descriptor);
        }
    }
}
