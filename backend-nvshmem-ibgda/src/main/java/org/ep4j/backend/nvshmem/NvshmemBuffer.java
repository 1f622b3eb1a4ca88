package org.ep4j.backend.nvshmem;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuMarker;
import org.ep4j.engine.gpu.GpuStream;
import org.ep4j.engine.gpu.PinnedMemory;
import org.ep4j.engine.memory.PostedArguments;
import org.ep4j.spi.DeviceCode;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.SymmetricBuffer;

/**
 * A range of the symmetric heap on one rank, counters behind it. The host posts on a stream of its own. What a peer that lives has on its
 * way may still land until all ranks have closed the buffer.
 */
final class NvshmemBuffer implements SymmetricBuffer, MappedPeers, DevicePosted {
    private static final Logger LOG = System.getLogger(NvshmemBuffer.class.getName());

    private static final Duration SHORTEST_DRAIN = Duration.ofSeconds(1);

    private final String name;
    private final Place place;
    private final GpuDevice device;
    private final DeviceCode code;
    private final Map<Integer, Peer> peers;
    private final Runnable release;
    private final Consumer<NvshmemBuffer> onClose;
    /** Longest wait for a call that has no deadline of its own. */
    private final Duration longest;

    private final GpuStream stream;
    /** Guards the marker and the word, which stand for one wait at a time. */
    private final Object waiting = new Object();

    private final GpuMarker marker;
    private final PinnedMemory word;
    private volatile boolean stuck;
    private final NvshmemProcess process = NvshmemProcess.get();
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

    /** A rank that this one exchanges with. */
    record Peer(int pe, String label) {}

    /**
     * A buffer over zeroed memory.
     *
     * @param longest wait for calls that have no deadline of their own
     * @param release gives the range back
     */
    NvshmemBuffer(
            String name,
            Place place,
            GpuDevice device,
            DeviceCode code,
            Map<Integer, Peer> peers,
            Duration longest,
            Runnable release,
            Consumer<NvshmemBuffer> onClose) {
        this.name = name;
        this.place = place;
        this.device = device;
        this.code = code;
        this.peers = Map.copyOf(peers);
        this.release = release;
        this.onClose = onClose;
        this.longest = longest;
        // Of the host, and pinned: a copy that does not end in time must find its target later, too.
        this.word = device.allocatePinned(Long.BYTES);
        boolean made = false;
        try {
            this.marker = device.createMarker();
            made = true;
        } finally {
            if (!made) {
                word.close();
            }
        }
        made = false;
        try {
            this.stream = device.createStream();
            made = true;
        } finally {
            if (!made) {
                marker.close();
                word.close();
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
        return new DeviceMemory(address, bytes, device.id());
    }

    @Override
    public DeviceCode code() {
        return code;
    }

    @Override
    public int number(int rank) {
        return find(rank).pe();
    }

    /** NVSHMEM maps the whole heap of a peer, or none of it. */
    @Override
    public OptionalLong mapped(int rank) {
        long there = process.mapped(place.address(), find(rank).pe());
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
                    + ", whose GPU this one does not reach: see nvidia-smi topo -p2p rw, or set "
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
    public void write(int peer, long target, long source, long bytes) {
        Peer to = find(peer);
        PostedArguments.checkRange("target", target, bytes, place.bytes(), this);
        PostedArguments.checkRange("source", source, bytes, place.bytes(), this);
        if (bytes > 0) {
            process.put(device, place.address() + target, place.address() + source, bytes, to.pe(), stream.handle());
        }
    }

    @Override
    public void advance(int peer, int counter, long value) {
        Peer to = find(peer);
        PostedArguments.checkCounter(counter);
        synchronized (waiting) {
            process.signal(device, place.counter(counter, place.rank()), value, to.pe(), stream.handle());
            awaitStream("advance of a counter", peer, longest);
        }
    }

    @Override
    public long seen(int counter, int source) {
        find(source);
        PostedArguments.checkCounter(counter);
        synchronized (waiting) {
            device.copy(word.hostAddress(), place.counter(counter, source), Long.BYTES, stream.handle());
            awaitStream("read of a counter", source, longest);
            return word.memory().getLong(0);
        }
    }

    /** Also what kernels that have ended put. */
    @Override
    public void drain(int peer, Duration deadline) {
        find(peer);
        synchronized (waiting) {
            process.quiet(device, stream.handle());
            // Queued anew by each call, so it cannot be done already where no time is left.
            awaitStream("drain", peer, deadline.compareTo(SHORTEST_DRAIN) > 0 ? deadline : SHORTEST_DRAIN);
        }
    }

    /** Waits for what is queued. If that does not end, a NIC or the GPU may write later, so nothing it could write to is used again. */
    private void awaitStream(String phase, int peer, Duration deadline) {
        marker.record(stream.handle());
        try {
            marker.await(deadline);
        } catch (EpTimeoutException e) {
            stuck = true;
            device.keep();
            EpTimeoutException named = new EpTimeoutException(
                    phase + " with " + find(peer).label() + " did not end in " + deadline.toMillis()
                            + " ms: NVSHMEM or " + device.id()
                            + " makes no progress; check that the peer runs and that its NICs are up, or raise ep.timeout",
                    phase,
                    peer,
                    1,
                    0);
            named.addSuppressed(e);
            throw named;
        }
    }

    private Peer find(int rank) {
        checkOpen();
        return PostedArguments.link(peers, rank, place.rank(), NvshmemProvider.ID);
    }

    private void checkOpen() {
        if (!open.get()) {
            throw new EpStateException(this + " is closed; do not use a buffer after close()");
        }
    }

    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            synchronized (waiting) {
                boolean busy = stuck && !marker.isDone();
                stream.close();
                marker.close();
                if (busy) {
                    LOG.log(
                            Level.WARNING,
                            "{0} keeps its part of the symmetric heap until the process ends: work of it does not end",
                            this);
                } else {
                    word.close();
                    release.run();
                }
            }
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return NvshmemProvider.ID + " buffer \"" + name + "\" of rank " + place.rank();
    }
}
