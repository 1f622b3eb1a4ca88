package org.ep4j.backend.nvshmem;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.FailedPath;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.collective.Pause;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuMarker;
import org.ep4j.engine.gpu.GpuStream;
import org.ep4j.engine.memory.FailedWrites;
import org.ep4j.engine.memory.PostedArguments;
import org.ep4j.plan.PathKind;
import org.ep4j.spi.DeviceCode;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.MappedPeers;
import org.ep4j.spi.SymmetricBuffer;

/**
 * A range of the symmetric heap on one rank, counters behind it. The host posts on a stream of its own.
 *
 * <p>NVSHMEM cannot cut off one peer: {@link #disconnect} ends what this rank sends and hears, and what a peer that lives has
 * on its way may still land until all ranks have closed the buffer.
 */
final class NvshmemBuffer implements SymmetricBuffer, MappedPeers, DevicePosted {
    private static final System.Logger LOGGER = System.getLogger(NvshmemBuffer.class.getName());

    /** What is queued when the buffer closes has this long to end. */
    private static final Duration LINGER = Duration.ofSeconds(2);

    private final String name;
    private final Place place;
    private final GpuDevice device;
    private final DeviceCode code;
    private final Map<Integer, Peer> peers;
    private final Runnable release;
    private final Consumer<NvshmemBuffer> onClose;
    private final GpuStream stream;
    private final NvshmemProcess process;
    private final Duration timeout;
    private final CounterReader reader;
    private final FailedWrites failures;
    /** Ends of what is queued, by peer: calls for one peer come from one thread at a time. */
    private final Map<Integer, GpuMarker> ends = new HashMap<>();

    private final GpuMarker end;
    private final Set<Integer> disconnected = ConcurrentHashMap.newKeySet();
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
     * Over zeroed memory.
     *
     * @param timeout longest wait of a call that has no deadline of its own
     * @param release gives the range back
     */
    NvshmemBuffer(
            String name,
            Place place,
            NvshmemProcess process,
            GpuDevice device,
            DeviceCode code,
            Map<Integer, Peer> peers,
            Duration timeout,
            Runnable release,
            Consumer<NvshmemBuffer> onClose) {
        this.name = name;
        this.place = place;
        this.process = process;
        this.device = device;
        this.code = code;
        this.peers = Map.copyOf(peers);
        this.release = release;
        this.onClose = onClose;
        this.timeout = timeout;
        this.failures = new FailedWrites(place.ranks(), toString());
        this.stream = device.createStream();
        this.reader = new CounterReader(device);
        this.end = device.createMarker();
        this.peers.keySet().forEach(peer -> ends.put(peer, device.createMarker()));
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
        Peer to = connected(peer);
        PostedArguments.checkRange("target", target, bytes, place.bytes(), this);
        PostedArguments.checkRange("source", source, bytes, place.bytes(), this);
        failures.check(peer);
        if (bytes > 0) {
            try {
                process.put(
                        device, place.address() + target, place.address() + source, bytes, to.pe(), stream.handle());
            } catch (RuntimeException | Error e) {
                failures.failed(peer, e);
                throw e;
            }
        }
    }

    /** The counter advances behind all that is queued, also when that ends after this call has timed out. */
    @Override
    public void advance(int peer, int counter, long value) {
        Peer to = connected(peer);
        PostedArguments.checkCounter(counter);
        failures.check(peer);
        process.signal(device, place.counter(counter, place.rank()), value, to.pe(), stream.handle());
        await(peer, to, "advance of counter " + counter, timeout);
    }

    @Override
    public long seen(int counter, int source) {
        Peer from = connected(source);
        PostedArguments.checkCounter(counter);
        return reader.read(place.counter(counter, source), "counter " + counter, source, from.label(), timeout);
    }

    /** Also what kernels that have ended put. */
    @Override
    public void drain(int peer, Duration deadline) {
        Peer to = connected(peer);
        process.quiet(device, stream.handle());
        await(peer, to, "drain", deadline);
        failures.drained(peer);
    }

    private void await(int peer, Peer to, String phase, Duration longest) {
        Deadline deadline = Deadline.in(longest);
        GpuMarker marker = Optional.ofNullable(ends.get(peer)).orElseThrow();
        marker.record(stream.handle());
        if (!passes(marker, deadline)) {
            throw new EpTimeoutException(
                    "what " + this + " has put was not done after " + longest.toMillis() + " ms, at its " + phase
                            + " for " + to.label()
                            + "; see whether that process runs, and the state of the NICs, or raise"
                            + " ep.timeout",
                    phase,
                    peer,
                    1,
                    0,
                    FailedPath.of(PathKind.DEVICE_POSTED));
        }
    }

    /** Polls until the work before a marker has ended; false where it has not by the deadline. */
    static boolean passes(GpuMarker marker, Deadline deadline) {
        for (int tries = 0; !marker.hasPassed(); tries++) {
            if (deadline.passed()) {
                return false;
            }
            Pause.after(tries);
        }
        return true;
    }

    /**
     * Ends what this rank sends to the peer and takes from it: later calls for it throw. The peer itself goes on reaching the
     * heap, by its NIC and by stores, since NVSHMEM has no call that takes away a peer's access.
     */
    @Override
    public void disconnect(int peer) {
        find(peer);
        disconnected.add(peer);
    }

    /** False: the heap stays mapped, and the range goes to another buffer once the ranks of a group have closed this one. */
    @Override
    public boolean staysMapped() {
        return false;
    }

    /** False, see {@link #disconnect}. */
    @Override
    public boolean canDisconnect() {
        return false;
    }

    private Peer find(int rank) {
        checkOpen();
        return PostedArguments.link(peers, rank, place.rank(), NvshmemProvider.ID);
    }

    private Peer connected(int rank) {
        Peer peer = find(rank);
        if (disconnected.contains(rank)) {
            throw new EpPeerLostException(
                    peer.label() + " was left out and cut off by this rank; join a new group to reach it again",
                    rank,
                    "post",
                    FailedPath.of(PathKind.DEVICE_POSTED));
        }
        return peer;
    }

    private void checkOpen() {
        if (!open.get()) {
            throw new EpStateException(this + " is closed; do not use a buffer after close()");
        }
    }

    @Override
    public void close() {
        if (open.compareAndSet(true, false)) {
            end.record(stream.handle());
            boolean ended = passes(end, Deadline.in(LINGER));
            end.close();
            ends.values().forEach(GpuMarker::close);
            stream.close();
            reader.close();
            if (ended) {
                release.run();
            } else {
                // What is queued still reads from the range, and would send peers what another buffer has there by
                // then.
                LOGGER.log(
                        System.Logger.Level.WARNING,
                        "{0} was closed while it put, and its part of the heap stays taken until the process ends; see"
                                + " which process died",
                        this);
            }
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return NvshmemProvider.ID + " buffer \"" + name + "\" of rank " + place.rank();
    }
}
