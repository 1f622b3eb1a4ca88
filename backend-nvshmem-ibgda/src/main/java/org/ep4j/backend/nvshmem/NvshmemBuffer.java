package org.ep4j.backend.nvshmem;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuStream;
import org.ep4j.engine.memory.HostMemory;
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
    private final String name;
    private final Place place;
    private final GpuDevice device;
    private final DeviceCode code;
    private final Map<Integer, Peer> peers;
    private final Runnable release;
    private final Consumer<NvshmemBuffer> onClose;
    private final GpuStream stream;
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
     * Over zeroed memory.
     *
     * @param release gives the range back
     */
    NvshmemBuffer(
            String name,
            Place place,
            GpuDevice device,
            DeviceCode code,
            Map<Integer, Peer> peers,
            Runnable release,
            Consumer<NvshmemBuffer> onClose) {
        this.name = name;
        this.place = place;
        this.device = device;
        this.code = code;
        this.peers = Map.copyOf(peers);
        this.release = release;
        this.onClose = onClose;
        this.stream = device.createStream();
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
        process.signal(device, place.counter(counter, place.rank()), value, to.pe(), stream.handle());
        stream.synchronize();
    }

    @Override
    public long seen(int counter, int source) {
        find(source);
        PostedArguments.checkCounter(counter);
        ByteBuffer word = ByteBuffer.allocateDirect(Long.BYTES).order(ByteOrder.nativeOrder());
        try {
            device.copy(HostMemory.address(word), place.counter(counter, source), Long.BYTES, stream.handle());
            stream.synchronize();
            return word.getLong(0);
        } finally {
            Reference.reachabilityFence(word);
        }
    }

    /** Also what kernels that have ended put. */
    @Override
    public void drain(int peer, Duration deadline) {
        find(peer);
        process.quiet(device, stream.handle());
        stream.synchronize();
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
            stream.close();
            release.run();
            onClose.accept(this);
        }
    }

    @Override
    public String toString() {
        return NvshmemProvider.ID + " buffer \"" + name + "\" of rank " + place.rank();
    }
}
