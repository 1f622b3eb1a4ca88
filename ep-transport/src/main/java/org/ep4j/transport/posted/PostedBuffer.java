package org.ep4j.transport.posted;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.BufferArguments;
import org.ep4j.transport.Deadline;
import org.jspecify.annotations.Nullable;

/**
 * One symmetric buffer on one rank, written through the connections of its backend.
 *
 * <p>A peer that closes a buffer deregisters its memory, and a write to memory that is not registered breaks the connection for all buffers. So
 * every rank notifies its peers that it closes, after all that it wrote has arrived, and writes nothing to a peer that has closed. Memory
 * stays registered until the peers have notified this rank: data for a short time only, counters until the peers have closed or are lost.
 *
 * @param <M> memory of buffers
 */
public final class PostedBuffer<M extends PostedMemory> implements SymmetricBuffer, HostPosted {
    private static final System.Logger LOGGER = System.getLogger(PostedBuffer.class.getName());

    /** Time for what is in flight when a buffer closes. */
    private static final Duration LINGER = Duration.ofSeconds(2);

    /** Data stays registered so long for peers that have not closed yet; their operations would fail anyhow. */
    private static final Duration GRACE = Duration.ofMillis(500);

    /** Time for one of several peers to accept what is in flight. */
    static final Duration TURN = Duration.ofMillis(5);

    private static final long PAUSE_NANOS = 50_000;

    /**
     * Polls within one call that finds nothing, where a thread asks for one peer only: with a call for each poll, the calls would take most
     * of the time between an arrival and its reader. A poll of an empty queue takes a NIC's library some 10 ns.
     */
    private static final int MANY_POLLS = 32;

    private final String backend;
    private final String name;
    private final int rank;
    private final M memory;
    private final Map<Integer, PostedConnection<M>> connections;
    /** By rank; null for a rank that is not connected. */
    private final List<@Nullable PostedConnection<M>> byRank = new ArrayList<>();

    private final LastRead lastRead;
    private final Consumer<PostedBuffer<M>> onClose;
    /** Connections from which something may still arrive for the buffer. For the thread that closes it, then for one at a time. */
    private final Set<PostedConnection<M>> awaited;

    private final AtomicBoolean open = new AtomicBoolean(true);
    private volatile Runnable check = PostedConnection.NO_CHECK;

    /** Connection whose counters were read last in a backend. A hint: two threads that read from two peers count as alternating. */
    public static final class LastRead {
        private @Nullable Object last;

        /** Creates it, with nothing read. */
        public LastRead() {}

        /** Returns the number of polls for a connection: a thread that reads from several peers in turn polls each once. */
        int polls(Object connection) {
            if (last == connection) {
                return MANY_POLLS;
            }
            last = connection;
            return 1;
        }
    }

    /**
     * Creates a buffer that all ranks have registered.
     *
     * @param connections by rank of the peer
     * @param lastRead of the backend
     * @param onClose gets this buffer once its data is not registered any more
     */
    public PostedBuffer(
            String backend,
            String name,
            int rank,
            M memory,
            Map<Integer, PostedConnection<M>> connections,
            LastRead lastRead,
            Consumer<PostedBuffer<M>> onClose) {
        this.backend = backend;
        this.name = name;
        this.rank = rank;
        this.memory = memory;
        this.connections = Map.copyOf(connections);
        this.lastRead = lastRead;
        this.onClose = onClose;
        this.awaited = new HashSet<>(connections.values());
        int last = connections.keySet().stream().mapToInt(peer -> peer).max().orElse(-1);
        for (int peer = 0; peer <= last; peer++) {
            byRank.add(connections.get(peer));
        }
    }

    @Override
    public DeviceMemory local() {
        checkOpen();
        return memory.local();
    }

    @Override
    public void put(int peer, long targetOffset, long sourceOffset, long bytes) {
        put(peer, targetOffset, sourceOffset, bytes, false);
    }

    @Override
    public void putMessage(int peer, long targetOffset, long sourceOffset, long bytes) {
        put(peer, targetOffset, sourceOffset, bytes, true);
    }

    private void put(int peer, long target, long source, long bytes, boolean message) {
        PostedConnection<M> to = connection(peer);
        long size = memory.local().byteSize();
        BufferArguments.checkRange("target", target, bytes, size, this);
        BufferArguments.checkRange("source", source, bytes, size, this);
        if (bytes > 0 && !memory.isClosedBy(to.peer().index())) {
            to.put(memory, target, source, bytes, message, check);
        }
    }

    @Override
    public void signal(int peer, int counter, long value) {
        PostedConnection<M> to = connection(peer);
        BufferArguments.checkCounter(counter);
        if (!memory.isClosedBy(to.peer().index())) {
            to.signal(memory, counter, value, check);
        }
    }

    @Override
    public long counter(int counter, int source) {
        PostedConnection<M> from = connection(source);
        BufferArguments.checkCounter(counter);
        int index = from.peer().index();
        boolean isNew = memory.showNew(index, counter);
        if (!isNew && memory.countsByPolling()) {
            from.tryProgress(lastRead.polls(from));
            isNew = memory.showNew(index, counter);
        }
        // What came last may have come after the counter was read.
        if (!isNew && from.isLost() && !memory.showNew(index, counter)) {
            throw from.lostNow();
        }
        return memory.shown(index, counter);
    }

    @Override
    public void flush(int peer, long deadlineNanos) {
        connection(peer).flush(Deadline.at(deadlineNanos), check);
    }

    @Override
    public boolean isIdle(int peer) {
        return connection(peer).isIdle();
    }

    @Override
    public void setWaitCheck(Runnable next) {
        check = next;
    }

    private PostedConnection<M> connection(int peer) {
        checkOpen();
        PostedConnection<M> found = peer >= 0 && peer < byRank.size() ? byRank.get(peer) : null;
        return found != null ? found : BufferArguments.link(connections, peer, rank, backend);
    }

    private void checkOpen() {
        if (!open.get()) {
            throw new EpStateException(this + " is closed; do not use a buffer after close()");
        }
    }

    /**
     * As {@link SymmetricBuffer#close}; first gives what is in flight a short time to arrive. A connection on which nothing arrives for so
     * long ends: it would read this memory when it works again.
     */
    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            notifyPeers(Deadline.in(LINGER));
            long end = System.nanoTime() + GRACE.toNanos();
            while (!isClosedByAll() && System.nanoTime() - end < 0) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
            memory.registrations().data().close();
            onClose.accept(this);
        }
    }

    /** Notifies each peer once all earlier writes to it have arrived. A peer that accepts nothing does not keep the others from being notified. */
    private void notifyPeers(Deadline end) {
        Set<PostedConnection<M>> waiting = new HashSet<>(connections.values());
        Set<PostedConnection<M>> notified = new HashSet<>();
        do {
            waiting.removeIf(one -> isOver(one, () -> one.drainThen(TURN, end, () -> notifyOnce(one, notified))));
        } while (!waiting.isEmpty() && !end.passed());
        for (PostedConnection<M> one : waiting) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    this + " is closed while writes to " + one.peer().label() + " are in flight");
            isOver(one, () -> {
                one.drainOrEnd(
                        GRACE,
                        TURN,
                        () -> notifyOnce(one, notified),
                        "no write to it completes, and this rank has closed " + this + " with writes in flight");
                return true;
            });
        }
    }

    /** A peer that was notified may have deregistered what the notice is written to. */
    private void notifyOnce(PostedConnection<M> one, Set<PostedConnection<M>> notified) {
        if (!notified.contains(one)) {
            one.postClosed(memory);
            notified.add(one);
        }
    }

    private static boolean isOver(PostedConnection<?> one, BooleanSupplier last) {
        try {
            return last.getAsBoolean();
        } catch (EpTimeoutException e) {
            return false;
        } catch (EpPeerLostException e) {
            LOGGER.log(
                    System.Logger.Level.DEBUG,
                    "a buffer was closed without a notice to " + one.peer().label(),
                    e);
            return true;
        }
    }

    /**
     * Whether all peers have closed the buffer or are lost. Then nothing of theirs is in flight, and all that they sent has been counted.
     * Waits a short time for other threads that use a connection.
     */
    boolean isClosedByAll() {
        Deadline turn = Deadline.in(TURN);
        awaited.removeIf(one -> (one.isLost() || memory.isClosedBy(one.peer().index())) && one.trySettle(turn));
        return awaited.isEmpty();
    }

    /** Gives the counters back. */
    void closeCounters() {
        memory.registrations().counters().close();
    }

    @Override
    public String toString() {
        return backend + " buffer \"" + name + "\" of rank " + rank;
    }
}
