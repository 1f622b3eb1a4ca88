package org.ep4j.backend.efa;

import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.PostedArguments;

/** One symmetric buffer on one rank. */
final class EfaBuffer implements SymmetricBuffer, HostPosted {
    private static final System.Logger LOGGER = System.getLogger(EfaBuffer.class.getName());

    /**
     * Memory stays registered for peers that have not closed the buffer yet so long: a write to memory that is not would
     * break the connection for all other buffers, and their operations would fail anyhow.
     */
    private static final Duration PATIENCE = Duration.ofMillis(500);

    /** Time for one of several peers to take what is in flight. */
    private static final Duration TURN = Duration.ofMillis(5);

    private static final long PAUSE_NANOS = 50_000;

    private final String name;
    private final int rank;
    private final DeviceMemory memory;
    private final Exposure.Exposed exposed;
    private final Map<Integer, Link> links;
    private final Consumer<EfaBuffer> onClose;
    private final AtomicBoolean open = new AtomicBoolean(true);
    private volatile Runnable check = Link.NO_CHECK;
    private final long[][] sent;
    private final AtomicLongArray shown;

    /**
     * A buffer that all ranks have registered.
     *
     * @param links by rank of the peer
     */
    EfaBuffer(
            String name,
            int rank,
            DeviceMemory memory,
            Exposure.Exposed exposed,
            Map<Integer, Link> links,
            Consumer<EfaBuffer> onClose) {
        this.name = name;
        this.rank = rank;
        this.memory = memory;
        this.exposed = exposed;
        this.links = Map.copyOf(links);
        this.onClose = onClose;
        int ranks = exposed.numbers().size();
        this.sent = new long[ranks][COUNTERS];
        this.shown = new AtomicLongArray(ranks * COUNTERS);
    }

    @Override
    public DeviceMemory local() {
        checkOpen();
        return memory;
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
        Link link = link(peer);
        PostedArguments.checkRange("target", target, bytes, memory.byteSize(), this);
        PostedArguments.checkRange("source", source, bytes, memory.byteSize(), this);
        if (bytes > 0 && !hasClosed(link)) {
            Region theirs = exposed.theirs().get(link.peer().index());
            link.write(exposed.data(), theirs, target, source, bytes, message, check);
        }
    }

    @Override
    public void signal(int peer, int counter, long value) {
        Link link = link(peer);
        PostedArguments.checkCounter(counter);
        if (!hasClosed(link)) {
            int index = link.peer().index();
            link.advance(exposed.numbers().get(index), counter, sent[index], value, check);
        }
    }

    @Override
    public long counter(int counter, int source) {
        Link link = link(source);
        PostedArguments.checkCounter(counter);
        int index = link.peer().index();
        int word = index * COUNTERS + counter;
        long last = shown.get(word);
        long value = exposed.counters().get(index, counter);
        if (value == last) {
            link.tryProgress();
            value = exposed.counters().get(index, counter);
        }
        if (value == last && link.isLost()) {
            // What came last may have come after the look at the counter.
            value = exposed.counters().get(index, counter);
            if (value == last) {
                throw link.lostNow();
            }
        }
        if (value != last) {
            shown.accumulateAndGet(word, value, Math::max);
        }
        return value;
    }

    @Override
    public void flush(int peer, long deadlineNanos) {
        link(peer).drain(Deadline.at(deadlineNanos), check);
    }

    @Override
    public void setWaitCheck(Runnable next) {
        check = next;
    }

    /**
     * True if a peer has closed this buffer: nobody reads what is written there, and a write to memory that is not registered any more breaks
     * the link for all buffers.
     */
    private boolean hasClosed(Link link) {
        return exposed.counters().isClosed(link.peer().index());
    }

    private Link link(int peer) {
        checkOpen();
        return PostedArguments.link(links, peer, rank, EfaProvider.ID);
    }

    private void checkOpen() {
        if (!open.get()) {
            throw new EpStateException(this + " is closed; do not use a buffer after close()");
        }
    }

    @Override
    public boolean isIdle(int peer) {
        return link(peer).isIdle();
    }

    /**
     * As {@link SymmetricBuffer#close}; first gives what is in flight a short time to arrive. A connection to a peer that takes nothing
     * for so long ends: it would read this memory when the peer continues.
     */
    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            sayFarewell(Deadline.in(EfaBackend.LINGER));
            awaitPeers();
            exposed.resources().close();
            onClose.accept(this);
        }
    }

    /** Tells all peers, each once it has taken all before: one that takes nothing must not keep the others from hearing it. */
    private void sayFarewell(Deadline end) {
        Set<Link> waiting = new HashSet<>(links.values());
        Set<Link> informed = new HashSet<>();
        do {
            waiting.removeIf(link -> isOver(link, () -> link.drainThen(TURN, () -> inform(link, informed))));
        } while (!waiting.isEmpty() && !end.passed());
        for (Link link : waiting) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    this + " is closed while writes to " + link.peer().label() + " are in flight");
            isOver(link, () -> {
                link.drainOrEnd(
                        PATIENCE,
                        () -> inform(link, informed),
                        "its connection accepted no data, and this rank has closed " + this + " with writes in flight");
                return true;
            });
        }
    }

    private void inform(Link link, Set<Link> informed) {
        if (!informed.contains(link)) {
            link.farewell(exposed.numbers().get(link.peer().index()), Deadline.in(TURN));
            informed.add(link);
        }
    }

    private static boolean isOver(Link link, BooleanSupplier last) {
        try {
            return last.getAsBoolean();
        } catch (EpTimeoutException e) {
            return false;
        } catch (EpPeerLostException e) {
            LOGGER.log(
                    System.Logger.Level.DEBUG,
                    "a buffer was closed without a notice to " + link.peer().label(),
                    e);
            return true;
        }
    }

    private void awaitPeers() {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (System.nanoTime() - end < 0
                && !links.values().stream()
                        .allMatch(link -> link.isLost()
                                || exposed.counters().isClosed(link.peer().index()))) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    @Override
    public String toString() {
        return EfaProvider.ID + " buffer \"" + name + "\" of rank " + rank;
    }
}
