package org.ep4j.engine.membership;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.ep4j.spi.MemberState;

/**
 * The lock that this rank holds for life, and those of its peers on the same host. The kernel releases the lock of a process that
 * has ended, after all of its threads have, and of no other one: a lock that is free proves that its rank does nothing any more,
 * also between containers, where process ids prove nothing. A process that is stopped keeps its lock.
 *
 * <p>Each rank creates a file, {@link #announcement announces} it, {@link #open opens} those of the others, and
 * {@link #removeName removes the name} of its own once all have opened it. The kernel deletes the file when the last process that
 * has it open ends. Nothing is ever known of a peer whose file cannot be opened: on another host, of another user, without a
 * common folder, or on a system other than Linux. Safe for several threads.
 */
public final class LivenessLocks implements AutoCloseable {
    private static final Logger LOG = System.getLogger("org.ep4j");

    /** Tells ranks of this process, of which nothing has to be proved, from others. */
    private static final String PROCESS = UUID.randomUUID().toString();

    private static final int FIELDS = 4;

    private final String host;
    private Optional<LivenessFile> own = Optional.empty();
    private Optional<Path> name = Optional.empty();
    private String id = "";
    private final Map<Integer, LivenessFile> peers = new HashMap<>();
    private final Map<Integer, MemberState> ended = new HashMap<>();

    private LivenessLocks(String host) {
        this.host = host;
    }

    /**
     * Creates this rank's file and takes its lock. If that is impossible, the others get to know of the end of this rank's process by
     * its connections only.
     *
     * @param host id of the running kernel
     * @param folders in which a file may be created; the first that works is taken
     */
    public static LivenessLocks create(String host, List<Path> folders) {
        LivenessLocks locks = new LivenessLocks(host);
        for (Path folder : folders) {
            if (locks.create(folder)) {
                break;
            }
        }
        return locks;
    }

    private boolean create(Path folder) {
        // Like the names of shared memory files, so that what a crash leaves behind is removed with them.
        Path path = folder.resolve(String.format(
                Locale.ROOT,
                "ep4j-%d-%016x.life",
                ProcessHandle.current().pid(),
                ThreadLocalRandom.current().nextLong()));
        try {
            LivenessFile file = LivenessFile.create(path);
            own = Optional.of(file);
            name = Optional.of(path);
            id = file.id();
            // Between creation and locking it looks like a leftover.
            if (!LivenessFile.id(path).equals(id)) {
                throw new IOException("a search for leftovers removed " + path);
            }
            return true;
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "no lock in " + folder + " shows that this rank lives", e);
            close();
            return false;
        }
    }

    /** What the others need to open this rank's file. */
    public byte[] announcement() {
        return String.join("\n", host, PROCESS, id, name.map(Path::toString).orElse(""))
                .getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Opens the files of the peers that are on this host, in other processes.
     *
     * @param rank this rank
     * @param announcements by rank, this rank's among them
     */
    public synchronized void open(int rank, List<byte[]> announcements) {
        for (int r = 0; r < announcements.size(); r++) {
            String[] fields = new String(announcements.get(r), StandardCharsets.UTF_8).split("\n", -1);
            if (r != rank
                    && fields.length == FIELDS
                    && fields[0].equals(host)
                    && !fields[1].equals(PROCESS)
                    && !fields[3].isEmpty()) {
                open(r, fields[2], Path.of(fields[3]));
            }
        }
    }

    private void open(int peer, String wanted, Path path) {
        try {
            LivenessFile file = LivenessFile.open(path);
            // The peer lives, since it waits for this rank: if its lock seems free, locks prove nothing here.
            if (file.id().equals(wanted) && !file.isUnlocked()) {
                peers.put(peer, file);
                return;
            }
            file.close();
            LOG.log(Level.DEBUG, "{0} does not have the lock of rank {1}", path, peer);
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "no lock shows whether rank " + peer + " lives", e);
        }
    }

    /** Removes the name of this rank's file, after all ranks have opened it. */
    public synchronized void removeName() {
        name.ifPresent(path -> {
            try {
                Files.deleteIfExists(path);
            } catch (IOException e) {
                LOG.log(Level.WARNING, "the file " + path + " stays behind; remove it", e);
            }
        });
        name = Optional.empty();
    }

    /** True when the lock of some peer can be looked at. */
    public synchronized boolean isAnyWatched() {
        return !peers.isEmpty();
    }

    /**
     * What the lock of a rank proves: {@link MemberState#LOST} when its process has ended, {@link MemberState#LEFT} when the rank
     * had closed its group before, {@link MemberState#ALIVE} when nothing is proved. Never goes back to alive. Does not block.
     */
    public synchronized MemberState state(int rank) {
        LivenessFile file = peers.get(rank);
        if (file != null && file.isUnlocked()) {
            ended.put(rank, file.isMarkedLeft() ? MemberState.LEFT : MemberState.LOST);
            peers.remove(rank);
            file.close();
        }
        return ended.getOrDefault(rank, MemberState.ALIVE);
    }

    /** Leaves in good order: the others see that this rank has left. A second call does nothing. */
    @Override
    public synchronized void close() {
        removeName();
        own.ifPresent(file -> {
            file.markLeft();
            file.close();
        });
        own = Optional.empty();
        peers.values().forEach(LivenessFile::close);
        peers.clear();
    }
}
