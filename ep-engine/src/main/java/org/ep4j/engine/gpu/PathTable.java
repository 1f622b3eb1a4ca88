package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.util.Deque;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.IntFunction;
import org.ep4j.EpPath;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Relays;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.DevicePosted;
import org.ep4j.transport.memory.DeviceAllocation;

/** Table of {@code struct Path} of {@code op.cu}, by rank: how kernels write to each peer that has a channel. The entries of the others are 0. */
final class PathTable {
    /** Bytes of an entry. */
    static final int ENTRY_BYTES = 13 * Long.BYTES;

    private PathTable() {}

    /** Returns the value of {@code enum PathKind}. */
    private static long number(EpPath.Kind kind) {
        return switch (kind) {
            case LOCAL, MAPPED -> 0;
            case HOST_POSTED -> 1;
            case DEVICE_POSTED -> 2;
        };
    }

    /**
     * How kernels write into the channel to a peer.
     *
     * @param offset added to an address in this rank's window or counters to store at the same place of the peer's, if {@code kind} is
     *     MAPPED
     * @param number of the peer in calls of the device library
     * @param ring address of the peer's command ring
     * @param head address of its head in GPU memory
     * @param commands that it holds
     */
    record Writes(EpPath.Kind kind, long offset, long number, long ring, long head, long commands) {
        /** Kernels store to the memory of a peer that the backend maps, and call its device library for the others. */
        private static Writes byDevice(DevicePosted posted, int peer) {
            OptionalLong offset = posted.mappedOffset(peer);
            return offset.isPresent()
                    ? new Writes(EpPath.Kind.MAPPED, offset.getAsLong(), 0, 0, 0, 0)
                    : new Writes(EpPath.Kind.DEVICE_POSTED, 0, posted.peerNumber(peer), 0, 0, 0);
        }

        static Writes byHost(long ring, long head, long commands) {
            return new Writes(EpPath.Kind.HOST_POSTED, 0, 0, ring, head, commands);
        }
    }

    /**
     * Writes the table to the GPU and returns its address.
     *
     * @param byHost how kernels write to a peer that host threads post to
     * @param owned gets what frees the table
     */
    static long write(
            EngineGpu device,
            Copies copies,
            GroupPlan plan,
            int rank,
            GpuWindow window,
            Relays relays,
            IntFunction<Writes> byHost,
            Deque<Runnable> owned) {
        DeviceAllocation table = device.allocatePrivate((long) plan.ranks() * ENTRY_BYTES);
        owned.push(table::close);
        WindowLayout layout = window.layout();
        List<Integer> peers = GpuWindow.remotes(plan, rank);
        ByteBuffer words = Copies.buffer(plan.ranks() * ENTRY_BYTES);
        for (int index = 0; index < peers.size(); index++) {
            int peer = peers.get(index);
            Writes writes = plan.pathKind(rank, peer) == EpPath.Kind.HOST_POSTED
                    ? byHost.apply(peer)
                    : Writes.byDevice(window.posted().orElseThrow(), peer);
            boolean mapped = writes.kind() == EpPath.Kind.MAPPED;
            EpPath.Kind comes = plan.pathKind(peer, rank);
            long there = layout.incoming(GpuWindow.place(plan, peer, rank));
            words.position(peer * ENTRY_BYTES)
                    .putLong(number(writes.kind()))
                    .putLong(number(comes))
                    .putLong(window.address() + (mapped ? there + writes.offset() : layout.outgoing(index)))
                    .putLong(window.address() + layout.incoming(index))
                    .putLong(mapped ? window.countersAddress(EpPath.Kind.DEVICE_POSTED) + writes.offset() : 0)
                    .putLong(window.countersAddress(comes))
                    .putLong(there)
                    .putLong(writes.number())
                    .putLong(relays.relay(rank, peer, Mask.NONE))
                    .putLong(relays.relay(peer, rank, Mask.NONE))
                    .putLong(writes.ring())
                    .putLong(writes.head())
                    .putLong(writes.commands());
        }
        words.position(plan.ranks() * ENTRY_BYTES);
        copies.write(table.memory().address(), words);
        return table.memory().address();
    }
}
