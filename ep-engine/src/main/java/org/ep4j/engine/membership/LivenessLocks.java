package org.ep4j.engine.membership;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.EpResourceException;
import org.ep4j.EpStateException;
import org.ep4j.transport.memory.HostMemory;

/**
 * The lock that this rank holds for life, and those of its peers on the same host. The kernel releases a lock only when all threads of
 * its process have ended: a free lock proves that its rank accesses nothing any more, also between containers, where process ids prove
 * nothing. A process that is stopped keeps its lock.
 *
 * <p>Each rank creates a file, {@link #announcement announces} it, {@link #open opens} those of the others, and
 * {@link #removeName removes the name} of its own once all have opened it. The kernel deletes the file when the last process that
 * has it open ends. Nothing is proved of a peer whose file cannot be opened: on another host, of another user, without a common folder,
 * or on a system other than Linux. Safe for several threads.
 *
 * <p>The file also keeps the rank's record in agreements on memberships, for each of its buffers, so that its peers can read it when
 * the process has ended. Files of ranks that reach each other's can be the memory through which they agree, see {@link #share}.
 */
public final class LivenessLocks implements AutoCloseable {
    private static final Logger LOG = System.getLogger("org.ep4j");

    /** Identifies ranks of this process, of which nothing has to be proved. */
    private static final String PROCESS = UUID.randomUUID().toString();

    private static final int FIELDS = 4;

    /** Bytes before a copy of a record: number, length, checksum. */
    private static final int HEAD = 3 * Long.BYTES;

    private static final int LINE = 64;

    /** Offset of the memory of buffers in a file; records are before it. */
    private static final long MEMORY = 64L << 20;

    /** Largest page of Linux kernels: a mapping begins on a page. */
    private static final long LARGEST_PAGE = 64 << 10;

    private final String host;
    private final List<Path> folders;
    private Optional<LivenessFile> own = Optional.empty();
    private Optional<Path> name = Optional.empty();
    private String id = "";
    /** Files of the peers on this host, also of those in this process. */
    private final Map<Integer, LivenessFile> files = new HashMap<>();
    /** Peers in other processes that have not ended. */
    private final Set<Integer> watched = new HashSet<>();

    /** Peers in this process, whose end only the bootstrap can report. */
    private final Set<Integer> inSameProcess = new HashSet<>();

    private final Map<Integer, MemberState> ended = new HashMap<>();
    /** By buffer: number of times that its record was stored. */
    private final Map<Integer, Long> stores = new HashMap<>();

    private final boolean lossIsProof;
    private boolean closed;

    private LivenessLocks(String host, List<Path> folders, boolean lossIsProof) {
        this.host = host;
        this.folders = List.copyOf(folders);
        this.lossIsProof = lossIsProof;
    }

    /**
     * Creates this rank's file and takes its lock. If that is impossible, the others detect the end of this rank's process by its
     * connections only.
     *
     * @param host id of the running kernel
     * @param folders in which a file may be created; the first usable one is taken. Peers' files are searched in all of them, since
     *     a folder that containers share may have another path in each
     * @param lossIsProof whether a rank of this process that the bootstrap has lost was declared dead, as tests do
     */
    public static LivenessLocks create(String host, List<Path> folders, boolean lossIsProof) {
        LivenessLocks locks = new LivenessLocks(host, folders, lossIsProof);
        for (Path folder : folders) {
            if (locks.create(folder)) {
                break;
            }
        }
        return locks;
    }

    private boolean create(Path folder) {
        // Named like shared memory files, so that leftovers of a crash are removed with them.
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
            // Between creation and locking it may have been taken for a leftover.
            if (!LivenessFile.id(path).equals(id)) {
                throw new IOException(path + " was removed as a leftover file before this rank could lock it");
            }
            return true;
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "no lock in " + folder + " shows that this rank is alive", e);
            close();
            closed = false;
            return false;
        }
    }

    /** Message with which the others can open this rank's file. */
    public byte[] announcement() {
        return String.join("\n", host, PROCESS, id, name.map(Path::toString).orElse(""))
                .getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Opens the files of the peers that are on this host.
     *
     * @param rank this rank
     * @param announcements by rank, this rank's among them
     */
    public synchronized void open(int rank, List<byte[]> announcements) {
        for (int r = 0; r < announcements.size(); r++) {
            String[] fields = new String(announcements.get(r), StandardCharsets.UTF_8).split("\n", -1);
            if (r != rank && fields.length == FIELDS && fields[0].equals(host) && !fields[3].isEmpty()) {
                open(r, fields[2], Path.of(fields[3]), fields[1].equals(PROCESS));
            }
        }
    }

    private void open(int peer, String wanted, Path announced, boolean inThisProcess) {
        List<Path> places = new ArrayList<>(List.of(announced));
        folders.forEach(folder -> places.add(folder.resolve(announced.getFileName())));
        for (Path path : places) {
            Optional<LivenessFile> file = openIfLocked(path, wanted);
            if (file.isPresent()) {
                files.put(peer, file.get());
                (inThisProcess ? inSameProcess : watched).add(peer);
                return;
            }
        }
        LOG.log(Level.DEBUG, "no lock shows whether rank {0} is alive", peer);
    }

    /** Opens a peer's file. The peer lives, since it waits for this rank: if its lock seems free, locks prove nothing here. */
    private static Optional<LivenessFile> openIfLocked(Path path, String wanted) {
        try {
            LivenessFile file = LivenessFile.open(path);
            if (file.id().equals(wanted) && !file.isUnlocked()) {
                return Optional.of(file);
            }
            file.close();
            LOG.log(Level.DEBUG, "the lock file {0} was replaced, or is not locked", path);
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "cannot open or read the lock file of a peer: " + path, e);
        }
        return Optional.empty();
    }

    /** Removes the name of this rank's file, after all ranks have opened it. */
    public synchronized void removeName() {
        name.ifPresent(path -> {
            try {
                Files.deleteIfExists(path);
            } catch (IOException e) {
                LOG.log(Level.WARNING, "the file " + path + " could not be removed; remove it by hand", e);
            }
        });
        name = Optional.empty();
    }

    /** Returns whether the lock of some peer can prove that its process has ended. */
    public synchronized boolean isAnyWatched() {
        return !watched.isEmpty();
    }

    /**
     * Returns what the lock of a rank proves: {@link MemberState#LOST} if its process has ended, {@link MemberState#LEFT} if the rank
     * had closed its group before, {@link MemberState#ALIVE} if nothing is proved. It never returns to alive. Does not block.
     */
    public synchronized MemberState state(int rank) {
        LivenessFile file = files.get(rank);
        if (file != null && watched.contains(rank) && file.isUnlocked()) {
            ended.put(rank, file.isMarkedLeft() ? MemberState.LEFT : MemberState.LOST);
            watched.remove(rank);
        }
        return ended.getOrDefault(rank, MemberState.ALIVE);
    }

    /** Returns whether a rank is proved dead or left; {@code state} is its state in the bootstrap. */
    synchronized boolean hasEnded(int rank, MemberState state) {
        return (lossIsProof && state == MemberState.LOST) || state(rank) != MemberState.ALIVE;
    }

    /**
     * Allocates room for the record of a buffer, so that it can be stored later.
     *
     * @param buffer number of the buffer, the same on all ranks
     * @param length most bytes of the record
     */
    synchronized void reserve(int buffer, int length) {
        if (offset(buffer + 1, 0, length) > MEMORY) {
            throw new EpResourceException(
                    "buffer number " + buffer
                            + " is above the limit of this group (closed buffers count, too); join a new group",
                    EpException.Recourse.REJOIN);
        }
        own.ifPresent(file -> {
            try {
                file.write(offset(buffer, 0, length), new byte[2 * copyBytes(length)]);
            } catch (IOException e) {
                throw new EpResourceException(
                        "cannot reserve room for the recovery record of buffer " + buffer
                                + " in this rank's lock file in the shared-memory folder: " + e
                                + "; free space in this folder",
                        e);
            }
        });
    }

    /**
     * Stores the record of a buffer in this rank's file, where it outlives the process. Two copies are written in turn, so that one is
     * complete if the process ends while it writes the other.
     */
    synchronized void store(int buffer, int length, byte[] record) {
        if (closed) {
            // The lock is free, so others take the stored record for final.
            throw new EpStateException("the group is closed; join again");
        }
        own.ifPresent(file -> {
            long number = stores.merge(buffer, 1L, Long::sum);
            ByteBuffer copy = ByteBuffer.allocate(HEAD + record.length)
                    .putLong(number)
                    .putLong(record.length)
                    .putLong(ControlSlots.checksum(number, record))
                    .put(record);
            try {
                file.write(offset(buffer, number, length), copy.array());
            } catch (IOException e) {
                throw new EpResourceException(
                        "the recovery record of a buffer cannot be stored in this rank's lock file: " + e, e);
            }
        });
    }

    /**
     * Reads the last record of a buffer of a rank that is proved dead or left.
     *
     * @param state of the rank in the bootstrap
     * @return empty if that is not proved, or the record cannot be read; no bytes if the rank has stored none
     */
    synchronized Optional<byte[]> finalRecord(int rank, MemberState state, int buffer, int length) {
        LivenessFile file = files.get(rank);
        boolean proved = inSameProcess.contains(rank)
                ? state == MemberState.LEFT || (state == MemberState.LOST && lossIsProof)
                : state(rank) != MemberState.ALIVE;
        return file == null || !proved ? Optional.empty() : newestRecord(file, rank, buffer, length);
    }

    /**
     * Reads the newest record of a buffer that a rank has stored, which may run.
     *
     * @return empty if this rank cannot read it; no bytes if the rank has stored none
     */
    synchronized Optional<byte[]> storedRecord(int rank, int buffer, int length) {
        LivenessFile file = files.get(rank);
        return file == null ? Optional.empty() : newestRecord(file, rank, buffer, length);
    }

    private static Optional<byte[]> newestRecord(LivenessFile file, int rank, int buffer, int length) {
        try {
            byte[] newest = {};
            long number = 0;
            for (int copy = 0; copy < 2; copy++) {
                ByteBuffer bytes = ByteBuffer.wrap(file.read(offset(buffer, copy, length), copyBytes(length)));
                long of = bytes.getLong();
                long size = bytes.getLong();
                long checksum = bytes.getLong();
                if (of > number && size >= 0 && size <= length) {
                    byte[] record = new byte[(int) size];
                    bytes.get(record);
                    if (checksum == ControlSlots.checksum(of, record)) {
                        newest = record;
                        number = of;
                    }
                }
            }
            return Optional.of(newest);
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "the recovery record of rank " + rank + " cannot be read", e);
            return Optional.empty();
        }
    }

    /** Returns whether a lock would prove that the process of a rank has ended. */
    synchronized boolean watches(int rank) {
        return files.containsKey(rank);
    }

    /** Returns whether this rank has a file and has opened those of some others: they are on its host and share a folder with it. */
    public synchronized boolean reaches(Collection<Integer> peers) {
        return own.isPresent() && files.keySet().containsAll(peers);
    }

    /**
     * Memory of one buffer in the files of this rank and of some others.
     *
     * @param peers memory of the others, by rank, which can be used once they have returned from {@link LivenessLocks#share}
     * @param free frees this rank's part and unmaps the others, which stay allocated; a second call does nothing
     */
    public record Shared(DeviceMemory own, Map<Integer, HostMemory> peers, Runnable free) implements AutoCloseable {
        @Override
        public void close() {
            free.run();
        }
    }

    /**
     * Allocates zeroed memory for a buffer in this rank's file, and maps that of other ranks in their files.
     *
     * @param buffer number of the buffer, the same on all ranks and used once
     * @param bytes of each rank, the same for all buffers; a multiple of a page
     * @param peers that this rank {@linkplain #reaches reaches}
     * @throws EpResourceException if there is no room for it
     */
    public synchronized Shared share(int buffer, long bytes, Collection<Integer> peers) {
        if (closed || own.isEmpty()) {
            throw new EpStateException("the group is closed; join again");
        }
        long offset = MEMORY + buffer * ((bytes + LARGEST_PAGE - 1) & -LARGEST_PAGE);
        Deque<Runnable> undo = new ArrayDeque<>();
        undo.push(() -> own.ifPresent(file -> file.free(offset, bytes)));
        try {
            own.get().allocate(offset, bytes);
            LivenessFile.Mapping mine = own.get().map(offset, bytes);
            undo.push(mine::close);
            Map<Integer, HostMemory> theirs = new TreeMap<>();
            for (int r : peers) {
                LivenessFile file = files.get(r);
                if (file == null) {
                    throw new IllegalStateException("the lock file of rank " + r + " is not open");
                }
                LivenessFile.Mapping mapping = file.map(offset, bytes);
                undo.push(mapping::close);
                theirs.put(r, HostMemory.of(mapping.memory()));
            }
            return new Shared(mine.memory(), theirs, () -> undo(undo));
        } catch (IOException e) {
            undo(undo);
            throw new EpResourceException(
                    "cannot allocate or map " + bytes + " bytes of memory by which ranks agree on recoveries of buffer "
                            + buffer + " in the shared-memory folder: " + e + "; free space in this folder",
                    e);
        }
    }

    private synchronized void undo(Deque<Runnable> steps) {
        steps.forEach(Runnable::run);
        steps.clear();
    }

    private static int copyBytes(int length) {
        return (HEAD + length + LINE - 1) & -LINE;
    }

    private static long offset(int buffer, long copy, int length) {
        return LINE + (2L * buffer + (copy & 1)) * copyBytes(length);
    }

    /** Leaves the group, which the others can read in the file. A second call does nothing. */
    @Override
    public synchronized void close() {
        removeName();
        closed = true;
        own.ifPresent(file -> {
            file.markLeft();
            file.close();
        });
        own = Optional.empty();
        files.values().forEach(LivenessFile::close);
        files.clear();
        watched.clear();
        inSameProcess.clear();
    }
}
