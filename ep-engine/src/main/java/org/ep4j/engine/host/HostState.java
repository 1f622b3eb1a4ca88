package org.ep4j.engine.host;

import java.util.List;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.BufferState;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.rows.Rows;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Relays;
import org.ep4j.engine.sync.Waits;
import org.ep4j.transport.memory.HostMemory;
import org.ep4j.transport.memory.HostViews;

/**
 * State that both modes of one buffer share.
 *
 * @param peers symmetric memory and counters
 * @param rowLoops copies, sums and casts of rows
 * @param views of tensors' memory
 * @param layout of the results
 * @param highThroughput memory of high-throughput results
 * @param lowLatency memory of low-latency results, one for each bank
 */
record HostState(
        EpShape shape,
        ExpertPlacement placement,
        Peers<HostMemory> peers,
        Relays relays,
        Waits waits,
        Rows rowLoops,
        HostViews views,
        LocalLayout layout,
        Region highThroughput,
        List<Region> lowLatency)
        implements BufferState {
    /** Memory, by address and as words. */
    record Region(DeviceMemory memory, HostMemory access) {
        static Region of(DeviceMemory memory) {
            return new Region(memory, HostMemory.of(memory));
        }
    }

    @Override
    public DeviceMemory symmetric() {
        return peers.symmetric();
    }

    int rank() {
        return peers.rank();
    }

    @Override
    public int ranks() {
        return peers.ranks();
    }

    @Override
    public int localExperts() {
        return placement.localExperts(peers.rank());
    }

    @Override
    public BufferLayout symmetricLayout() {
        return peers.layout();
    }

    @Override
    public Tensor tensor(LocalLayout.HighThroughput region, DataType type, long... dims) {
        return BufferState.tensor(highThroughput.memory(), layout.offset(region), type, dims);
    }

    @Override
    public Tensor tensor(long number, LocalLayout.LowLatency region, DataType type, long... dims) {
        return BufferState.tensor(bank(number).memory(), layout.offset(region), type, dims);
    }

    RequestChecks checks() {
        return new RequestChecks(Device.HOST, shape, ranks(), localExperts());
    }

    Region bank(long number) {
        return lowLatency.get((int) (number & 1));
    }

    /** Index of an expert on {@code rank}; -1 if it is on another rank or {@code id} is -1. */
    int localIndex(int id, int rank) {
        return id >= 0 && placement.rankOf(id) == rank ? placement.localIndex(id) : -1;
    }
}
