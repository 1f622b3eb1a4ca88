package org.ep4j.backend.nvshmem;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.ep4j.DeviceMemory;
import org.ep4j.EpFailure;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.EngineGpu.EngineEvent;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.spi.DeviceCode;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.BufferArguments;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.Resources;

/**
 * A range of the symmetric heap on one rank, counters behind it. The host posts on a stream of its own. What a peer that lives has on its
 * way may still land until all ranks have closed the buffer.
 */
final class NvshmemBuffer implements SymmetricBuffer, MappedPeers, DevicePosted {
    private static final Logger LOG = System.getLogger(NvshmemBuffer.class.getName());

    private static final Duration SHORTEST_FLUSH = Duration.ofSeconds(1);

    private final String name;
    private final Place place;
    private final EngineGpu device;
    private final DeviceCode code;
    private final Map<Integer, Peer> peers;
    private final Runnable release;
    private final Consumer<NvshmemBuffer> onClose;
    /** Longest wait for a call that has no deadline of its own. */
    private final Duration longest;

    private final GpuStream stream;
    /** Guards the event and the word, which stand for one wait at a time. */
    private final ReentrantLock waiting = new ReentrantLock();

    private final EngineEvent event;
    private final PinnedMemory word;
    /** Work has failed, or has not ended in time. Guarded by the lock. */
    private boolean stuck;
    /** The event does not stand for all work that may be queued. Guarded by the lock. */
    private boolean unmarked;
    /** By rank and counter: the last value that the host has signalled. Guarded by the lock. */
    private final long[][] signalled;

    private final NvshmemProcess process;
    private final AtomicBoolean open = new AtomicBoolean(true);

    /**
     * Where it is.
     *
     * @param counters bytes behind it
     * @param rank this one
     * @param ranks of the plan
     */
    record Place(long address, long bytes, long counters, int rank, int ranks) {
        long counter(int counter, int source) {
            return address + bytes + ((long) counter * ranks + source) * NvshmemBackend.COUNTER_BYTES;
        }
    }

    /**
     * A rank that this one exchanges with.
     *
     * @param pe its number in NVSHMEM
     * @param stores whether kernels store to its memory if NVSHMEM maps it, rather than call the device library
     * @param label its name for messages
     * @param failure what all failures with it have in common
     */
    record Peer(int pe, boolean stores, String label, EpFailure failure) {}

    /**
     * A buffer over zeroed memory.
     *
     * @param process in which NVSHMEM is initialised
     * @param longest wait for calls that have no deadline of their own
     * @param release gives the range back
     */
    NvshmemBuffer(
            NvshmemProcess process,
            String name,
            Place place,
            EngineGpu device,
            DeviceCode code,
            Map<Integer, Peer> peers,
            Duration longest,
            Runnable release,
            Consumer<NvshmemBuffer> onClose) {
        this.process = process;
        this.name = name;
        this.place = place;
        this.device = device;
        this.code = code;
        this.peers = Map.copyOf(peers);
        this.release = release;
        this.onClose = onClose;
        this.longest = longest;
        this.signalled = new long[place.ranks()][COUNTERS];
        Resources created = new Resources();
        boolean done = false;
        try {
            // Pinned host memory: a copy that does not end in time must find its target later, too.
            this.word = device.allocatePinned(Long.BYTES);
            created.add(word::close);
            this.event = device.createUntimedEvent();
            created.add(event::close);
            this.stream = device.createStream();
            done = true;
        } finally {
            if (!done) {
                created.close();
            }
        }
    }

    @Override
    public DeviceMemory local() {
        checkOpen();
        return memory(place.address(), place.bytes());
    }

    @Override
    public DeviceMemory counters() {
        checkOpen();
        return memory(place.address() + place.bytes(), place.counters());
    }

    private DeviceMemory memory(long address, long bytes) {
        return DeviceMemory.of(address, bytes, device.id());
    }

    @Override
    public DeviceCode code() {
        return code;
    }

    @Override
    public int peerNumber(int rank) {
        return find(rank).pe();
    }

    /** NVSHMEM maps the whole heap of a peer, or none of it. */
    @Override
    public OptionalLong mappedOffset(int rank) {
        Peer peer = find(rank);
        long there = peer.stores() ? process.mapped(place.address(), peer.pe()) : 0;
        return there == 0 ? OptionalLong.empty() : OptionalLong.of(there - place.address());
    }

    /** As {@link MappedPeers#peer}, where NVLink or PCIe reaches the peer. */
    @Override
    public DeviceMemory peer(int rank) {
        checkOpen();
        if (rank == place.rank()) {
            return local();
        }
        Peer peer = find(rank);
        long there = process.mapped(place.address(), peer.pe());
        if (there == 0) {
            throw new EpUnavailableException("NVSHMEM maps no memory of " + peer.label()
                    + ", because the GPU of this rank does not reach the GPU of that rank: see nvidia-smi topo -p2p"
                    + " rw, or set "
                    + NvshmemKeys.MAPS.name() + " to false");
        }
        return memory(there, place.bytes());
    }

    @Override
    public void attach(long module) {
        process.attach(device, module);
    }

    @Override
    public void detach(long module) {
        process.detach(device, module);
    }

    @Override
    public void put(int peer, long targetOffset, long sourceOffset, long bytes) {
        Peer to = find(peer);
        BufferArguments.checkRange("target", targetOffset, bytes, place.bytes(), this);
        BufferArguments.checkRange("source", sourceOffset, bytes, place.bytes(), this);
        if (bytes > 0) {
            long start = place.address();
            // Not behind calls that wait, but never on a stream that another thread has closed.
            synchronized (stream) {
                checkOpen();
                process.put(device, start + targetOffset, start + sourceOffset, bytes, to.pe(), stream.handle());
            }
        }
    }

    @Override
    public void signal(int peer, int counter, long value) {
        Peer to = find(peer);
        BufferArguments.checkCounter(counter);
        Runnable set = () -> {
            if (value > signalled[peer][counter]) {
                process.signal(device, place.counter(counter, place.rank()), value, to.pe(), stream.handle());
                // Not after the wait: what has not ended in time is still queued, and a lower value must not follow it.
                signalled[peer][counter] = value;
            }
        };
        finish("advance of a counter", to, longest, set);
    }

    @Override
    public long counter(int counter, int source) {
        Peer from = find(source);
        BufferArguments.checkCounter(counter);
        Runnable read =
                () -> device.copy(word.hostAddress(), place.counter(counter, source), Long.BYTES, stream.handle());
        return finish("read of a counter", from, longest, read);
    }

    /** Also what kernels that have ended put. */
    @Override
    public void flush(int peer, long deadlineNanos) {
        Peer to = find(peer);
        // Queued anew by each call, so it cannot be done already where no time is left.
        Duration left = Deadline.at(deadlineNanos).whole();
        Duration least = left.compareTo(SHORTEST_FLUSH) > 0 ? left : SHORTEST_FLUSH;
        finish("drain", to, least, () -> process.quiet(device, stream.handle()));
    }

    /**
     * Queues work and waits until it is done. If that fails or does not end, a NIC or the GPU may write later, so nothing it could write to is
     * used again.
     *
     * @param deadline for the wait, also for the end of another call's wait
     * @return the pinned word, which the next call may overwrite
     */
    private long finish(String phase, Peer with, Duration deadline, Runnable queue) {
        Deadline end = Deadline.in(deadline);
        if (!end.tryLock(waiting)) {
            throw late(
                    phase,
                    with,
                    deadline,
                    "another call on this buffer, which carries out one call after the other, is still waiting; check"
                            + " that the peer of that call runs, or raise ep.timeout");
        }
        boolean queued = false;
        boolean done = false;
        try {
            checkOpen();
            queue.run();
            event.record(stream.handle());
            queued = true;
            event.await(end.left());
            done = true;
            return word.memory().getLong(0);
        } catch (EpTimeoutException e) {
            EpTimeoutException named = late(
                    phase,
                    with,
                    deadline,
                    "NVSHMEM or " + device.id()
                            + " makes no progress; check that the peer runs and that its NICs are up, or raise"
                            + " ep.timeout");
            named.addSuppressed(e);
            throw named;
        } finally {
            if (!done && open.get()) {
                stuck = true;
                unmarked |= !queued;
                device.keepMemory();
            }
            waiting.unlock();
        }
    }

    private static EpTimeoutException late(String phase, Peer with, Duration deadline, String why) {
        return new EpTimeoutException(
                phase + " with " + with.label() + " did not end in " + deadline.toMillis() + " ms: " + why,
                with.failure().toBuilder().phase(phase).expected(1).build());
    }

    private Peer find(int rank) {
        checkOpen();
        return BufferArguments.link(peers, rank, place.rank(), NvshmemProvider.ID);
    }

    private void checkOpen() {
        if (!open.get()) {
            throw new EpStateException(this + " is closed; do not use a buffer after close()");
        }
    }

    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            // Another call holds it until its own deadline.
            waiting.lock();
            try {
                boolean busy = stuck && (unmarked || !event.isDone());
                synchronized (stream) {
                    stream.close();
                }
                event.close();
                if (busy) {
                    LOG.log(
                            Level.WARNING,
                            "{0} keeps its part of the symmetric heap until the process ends, because its queued work"
                                    + " has not ended",
                            this);
                } else {
                    word.close();
                    release.run();
                }
            } finally {
                waiting.unlock();
            }
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return NvshmemProvider.ID + " buffer \"" + name + "\" of rank " + place.rank();
    }
}
