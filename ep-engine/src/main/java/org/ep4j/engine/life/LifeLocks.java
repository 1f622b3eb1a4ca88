package org.ep4j.engine.life;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.ep4j.engine.sync.DeathProof;

/**
 * The lock that this rank holds while it is in the group, and those of its peers on the same host. The kernel frees the lock of a
 * process that has ended, after all of its threads have, and of no other one: a lock that is free proves that its rank stores
 * nothing any more. That holds where process ids say nothing, as between containers.
 *
 * <p>Ranks {@link #announcement announce} their files, {@link #open} those of the others, and {@link #removeName remove the name}
 * of their own once all have: the file is gone with the last process that has it open, however that ends. A peer whose file
 * cannot be opened (another host, another user, a folder of its own) is never known to be gone. Safe for several threads.
 */
public final class LifeLocks implements DeathProof, AutoCloseable {
    private static final Logger LOG = System.getLogger("org.ep4j");

    /** Begins as the files of shared memory do, so that what a crash leaves behind is swept with them. */
    private static final String PREFIX = "ep4j-";

    private final Optional<Flock> calls;
    private final String host;
    private Optional<Path> path = Optional.empty();
    private String file = "";
    private int own = -1;
    private final Map<Integer, Integer> peers = new HashMap<>();
    private final Set<Integer> gone = new HashSet<>();

    private LifeLocks(Optional<Flock> calls, String host) {
        this.calls = calls;
        this.host = host;
    }

    /**
     * Makes this rank's file and takes its lock. Where that is impossible the others never learn that this rank is gone, and go on
     * in fresh memory instead.
     *
     * @param host id of the running kernel
     * @param folders in which a file may be made; the first that works is taken
     */
    public static LifeLocks create(String host, List<Path> folders) {
        LifeLocks locks;
        try {
            locks = new LifeLocks(Optional.of(new Flock()), host);
        } catch (LinkageError e) {
            LOG.log(Level.DEBUG, "no lock shows that this rank lives", e);
            return new LifeLocks(Optional.empty(), host);
        }
        for (Path folder : folders) {
            if (locks.make(folder)) {
                break;
            }
        }
        return locks;
    }

    private boolean make(Path folder) {
        Flock flock = calls.orElseThrow();
        Path wanted = folder.resolve(String.format(
                Locale.ROOT,
                "%s%d-%016x.life",
                PREFIX,
                ProcessHandle.current().pid(),
                ThreadLocalRandom.current().nextLong()));
        int descriptor = -1;
        try {
            descriptor = flock.create(wanted);
            if (!flock.tryLock(descriptor)) {
                throw new IOException("a sweep of leftovers took the lock of " + wanted);
            }
            file = id(descriptor);
            if (!file.equals(id(wanted))) {
                throw new IOException("a sweep of leftovers removed " + wanted);
            }
            own = descriptor;
            path = Optional.of(wanted);
            return true;
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "no lock in " + folder + " shows that this rank lives", e);
            if (descriptor >= 0) {
                flock.closeDescriptor(descriptor);
                remove(wanted);
            }
            return false;
        }
    }

    private static String id(Path path) throws IOException {
        Map<String, Object> values = Files.readAttributes(path, "unix:dev,ino", LinkOption.NOFOLLOW_LINKS);
        return values.get("dev") + ":" + values.get("ino");
    }

    private static String id(int descriptor) throws IOException {
        Map<String, Object> values = Files.readAttributes(Path.of("/proc/self/fd/" + descriptor), "unix:dev,ino");
        return values.get("dev") + ":" + values.get("ino");
    }

    /** What the others need to open this rank's file. */
    public byte[] announcement() {
        return String.join("\n", host, file, path.map(Path::toString).orElse(""))
                .getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Opens the files of the peers that are on this host.
     *
     * @param announcements by rank, this one's among them
     * @param rank this one
     */
    public synchronized void open(int rank, List<byte[]> announcements) {
        for (int r = 0; r < announcements.size(); r++) {
            String[] parts = new String(announcements.get(r), StandardCharsets.UTF_8).split("\n", -1);
            if (r != rank && parts.length == 3 && parts[0].equals(host) && !parts[2].isEmpty()) {
                open(r, parts[1], Path.of(parts[2]));
            }
        }
    }

    private void open(int peer, String wanted, Path at) {
        if (calls.isEmpty()) {
            return;
        }
        Flock flock = calls.get();
        int descriptor = -1;
        try {
            descriptor = flock.openExisting(at);
            if (!id(descriptor).equals(wanted)) {
                throw new IOException(at + " is another file than the one that rank " + peer + " holds");
            }
            // The peer lives, and waits for this rank: where its lock is not seen, none here proves anything.
            if (flock.isFree(descriptor)) {
                throw new IOException(
                        "the lock that rank " + peer + " holds on " + at + " is not seen by this process");
            }
            peers.put(peer, descriptor);
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "no lock shows whether rank " + peer + " lives", e);
            if (descriptor >= 0) {
                flock.closeDescriptor(descriptor);
            }
        }
    }

    /** Removes the name of this rank's file, after all ranks have opened it. */
    public synchronized void removeName() {
        path.ifPresent(LifeLocks::remove);
        path = Optional.empty();
    }

    private static void remove(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            LOG.log(Level.WARNING, "the file " + path + " stays behind; remove it", e);
        }
    }

    @Override
    public synchronized boolean isGone(int rank) {
        Integer descriptor = peers.get(rank);
        if (descriptor != null && calls.orElseThrow().isFree(descriptor)) {
            gone.add(rank);
            peers.remove(rank);
            calls.orElseThrow().closeDescriptor(descriptor);
        }
        return gone.contains(rank);
    }

    @Override
    public synchronized boolean isHeld(int rank) {
        return !isGone(rank) && peers.containsKey(rank);
    }

    /** Frees this rank's lock: it has touched memory of others for the last time. */
    @Override
    public synchronized void close() {
        if (own >= 0) {
            calls.orElseThrow().closeDescriptor(own);
            own = -1;
        }
        keep();
    }

    /** Closes all but this rank's lock, which the end of the process frees: something may still touch memory of others. */
    public synchronized void keep() {
        removeName();
        calls.ifPresent(flock -> peers.values().forEach(flock::closeDescriptor));
        peers.clear();
    }
}
