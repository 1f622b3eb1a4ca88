package org.ep4j.tck.posted;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.ep4j.Device;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPeerLostException;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.spi.DeviceCode;
import org.ep4j.spi.DevicePosted;
import org.ep4j.spi.MemberState;
import org.ep4j.spi.OpenContext;
import org.ep4j.spi.SymmetricBuffer;

/** A window of one rank, which others write by stores into it. They go on to do so when they are disconnected, as those of a NIC may. */
final class PutThreadsBuffer implements SymmetricBuffer, DevicePosted {
    private static final int COUNTER_BYTES = 64;
    private static final DeviceCode CODE =
            new DeviceCode("put-threads", PutTable.SOURCE, Map.of(), List.of(), List.of());

    private final OpenContext context;
    private final DeviceAllocation own;
    private final long bytes;
    private final Map<Integer, Peer> peers;
    private final Set<Integer> disconnected = ConcurrentHashMap.newKeySet();

    /** Where a rank's window begins, and its place in {@link PutTable}. */
    record Peer(long address, int slot) {}

    PutThreadsBuffer(OpenContext context, DeviceAllocation own, long bytes, Map<Integer, Peer> peers) {
        this.context = context;
        this.own = own;
        this.bytes = bytes;
        this.peers = Map.copyOf(peers);
    }

    @Override
    public DeviceMemory local() {
        return own.memory().slice(0, bytes);
    }

    @Override
    public DeviceMemory counters() {
        return own.memory().slice(bytes, own.memory().byteSize() - bytes);
    }

    @Override
    public DeviceCode code() {
        return CODE;
    }

    private Peer find(int rank) {
        Peer peer = peers.get(rank);
        if (peer == null) {
            throw new IllegalArgumentException("no rank " + rank);
        }
        return peer;
    }

    @Override
    public int number(int rank) {
        return find(context.rank()).slot() << 15 | find(rank).slot();
    }

    @Override
    public void attach(long module) {
        // Kernels find the table by its address.
    }

    @Override
    public void detach(long module) {
        // As above.
    }

    private Peer living(int rank) {
        Peer peer = find(rank);
        if (disconnected.contains(rank)
                || context.bootstrap().state(context.ranks().indexOf(rank)) == MemberState.LOST) {
            throw new EpPeerLostException("rank " + rank + " is lost", rank, "put");
        }
        return peer;
    }

    private static HostMemory at(long address, long bytes) {
        return HostMemory.of(new DeviceMemory(address, bytes, Device.HOST));
    }

    private long counter(int counter, int source) {
        return bytes + ((long) counter * context.plan().ranks() + source) * COUNTER_BYTES;
    }

    @Override
    public void write(int peer, long target, long source, long size) {
        at(living(peer).address(), bytes).copy(target, at(own.memory().address(), bytes), source, size);
    }

    @Override
    public void advance(int peer, int counter, long value) {
        at(living(peer).address(), own.memory().byteSize()).putLongRelease(counter(counter, context.rank()), value);
    }

    @Override
    public long seen(int counter, int source) {
        find(source);
        long value = at(own.memory().address(), own.memory().byteSize()).getLongAcquire(counter(counter, source));
        if (value == 0) {
            living(source);
        }
        return value;
    }

    @Override
    public void drain(int peer, Duration deadline) {
        living(peer);
    }

    @Override
    public void disconnect(int peer) {
        find(peer);
        disconnected.add(peer);
    }

    @Override
    public boolean canDisconnect() {
        return false;
    }

    @Override
    public void close() {
        own.close();
    }
}
