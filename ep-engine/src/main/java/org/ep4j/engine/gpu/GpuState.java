package org.ep4j.engine.gpu;

import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.BufferState;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.gpu.KernelMemory.DeviceWords;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Waits;
import org.ep4j.gpu.driver.EngineGpu;

/**
 * State that both modes of one buffer share.
 *
 * @param peers symmetric memory of all ranks, for set-up and recovery
 * @param layout of the results
 * @param highThroughput memory of high-throughput results
 * @param lowLatency memory of low-latency results, two banks one after the other
 * @param temporary see {@link KernelSizes#temporaryBytes}
 * @param remotes whether some peers have channels
 */
record GpuState(
        EngineGpu device,
        EpShape shape,
        ExpertPlacement placement,
        Peers<DeviceWords> peers,
        Waits waits,
        LocalLayout layout,
        DeviceMemory highThroughput,
        DeviceMemory lowLatency,
        DeviceMemory temporary,
        Multiprocessors multiprocessors,
        boolean remotes)
        implements BufferState {
    @Override
    public int ranks() {
        return peers.ranks();
    }

    @Override
    public int localExperts() {
        return placement.localExperts(peers.rank());
    }

    RequestChecks checks() {
        return new RequestChecks(device.id(), shape, ranks(), localExperts());
    }

    @Override
    public BufferLayout symmetricLayout() {
        return peers.layout();
    }

    long address(LocalLayout.HighThroughput region) {
        return highThroughput.address() + layout.offset(region);
    }

    long address(long number, LocalLayout.LowLatency region) {
        return lowLatency.address() + offset(number, region);
    }

    private long offset(long number, LocalLayout.LowLatency region) {
        return (number & 1) * layout.lowLatencyBytes() + layout.offset(region);
    }

    @Override
    public Tensor tensor(LocalLayout.HighThroughput region, DataType type, long... dims) {
        return BufferState.tensor(highThroughput, layout.offset(region), type, dims);
    }

    @Override
    public Tensor tensor(long number, LocalLayout.LowLatency region, DataType type, long... dims) {
        return BufferState.tensor(lowLatency, offset(number, region), type, dims);
    }

    @Override
    public DeviceMemory symmetric() {
        return peers.symmetric();
    }
}
