package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.BufferMemory;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Waits;

/**
 * What both modes of one buffer share.
 *
 * @param device of this rank
 * @param shape sizes
 * @param placement experts
 * @param peers symmetric memory of all ranks, for setting up and recovering
 * @param waits how failed waits are told
 * @param results memory of the results
 * @param temporary see {@link Temporary}
 * @param processors that move rows
 * @param remotes true where some ranks of the group post to others
 * @param windows by which this rank exchanges with peers that it posts to, or that post to it
 * @param older symmetric memory that this rank has moved away from, into which a lost rank may still write; grows with each move
 */
record GpuState(
        GpuDevice device,
        EpShape shape,
        ExpertPlacement placement,
        Peers<DeviceWords> peers,
        Waits waits,
        ResultMemory results,
        DeviceMemory temporary,
        Processors processors,
        boolean remotes,
        GpuWindows windows,
        List<DeviceMemory> older) {
    /** The same after a move, with the windows of the fresh memory. */
    GpuState with(GpuWindows moved) {
        return new GpuState(
                device, shape, placement, peers, waits, results, temporary, processors, remotes, moved, older);
    }

    /** Blocks that move rows in high throughput. */
    int highThroughputProcessors() {
        return processors.highThroughput();
    }

    /** Blocks that move rows in one high-throughput operation. */
    int highThroughputProcessors(OpOptions options) {
        return processors(options, processors.highThroughput());
    }

    /** Blocks that move rows in low latency. */
    int lowLatencyProcessors() {
        return processors.lowLatency();
    }

    /** Blocks that move rows in one low-latency operation. */
    int lowLatencyProcessors(OpOptions options) {
        return processors(options, processors.lowLatency());
    }

    private int processors(OpOptions options, int otherwise) {
        return Math.min(
                options.multiprocessors().orElse(otherwise), device.facts().processors());
    }

    int rank() {
        return peers.rank();
    }

    int ranks() {
        return peers.ranks();
    }

    int localExperts() {
        return placement.localExperts(peers.rank());
    }

    RequestChecks checks() {
        return new RequestChecks(device.id(), shape, ranks(), localExperts(), memory());
    }

    private BufferMemory memory() {
        List<DeviceMemory> others = new ArrayList<>();
        peers.mapped().forEach(peer -> others.add(peer.memory()));
        windows.all().forEach(window -> others.addAll(window.reachable()));
        others.addAll(older);
        return new BufferMemory(symmetric(), symmetricLayout(), others, results);
    }

    BufferLayout symmetricLayout() {
        return peers.layout();
    }

    /** Address of a high-throughput region. */
    long address(LocalLayout.HighThroughput region) {
        return results.take(region).address();
    }

    /** Address of a region of a low-latency bank. */
    long address(int bank, LocalLayout.LowLatency region) {
        return results.take(bank, region).address();
    }

    Tensor tensor(LocalLayout.HighThroughput region, DataType type, long... dims) {
        return tensor(results.take(region), 0, type, dims);
    }

    Tensor tensor(int bank, LocalLayout.LowLatency region, DataType type, long... dims) {
        return tensor(results.take(bank, region), 0, type, dims);
    }

    /** This rank's symmetric memory. */
    DeviceMemory symmetric() {
        return peers.symmetric();
    }

    Tensor symmetricTensor(long offset, DataType type, long... dims) {
        return tensor(symmetric(), offset, type, dims);
    }

    private static Tensor tensor(DeviceMemory memory, long offset, DataType type, long... dims) {
        long bytes = type.bytes();
        for (long dim : dims) {
            bytes *= dim;
        }
        return Tensor.of(memory.slice(offset, bytes), type, dims);
    }
}
