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
 * @param results memory of results
 * @param temporary see {@link KernelSizes#temporaryBytes}
 * @param remotes whether some peers have channels
 */
record GpuState(
        EngineGpu device,
        EpShape shape,
        ExpertPlacement placement,
        Peers<DeviceWords> peers,
        Waits waits,
        LocalMemory results,
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
        return results.of(region.part()).address() + results.layout().offsetInPart(region);
    }

    long address(long number, LocalLayout.LowLatency region) {
        return results.of(region.part()).address() + results.layout().offsetInPart(number, region);
    }

    @Override
    public Tensor tensor(LocalLayout.HighThroughput region, DataType type, long... dims) {
        return BufferState.tensor(results.of(region.part()), results.layout().offsetInPart(region), type, dims);
    }

    @Override
    public Tensor tensor(long number, LocalLayout.LowLatency region, DataType type, long... dims) {
        return BufferState.tensor(results.of(region.part()), results.layout().offsetInPart(number, region), type, dims);
    }

    @Override
    public DeviceMemory symmetric() {
        return peers.symmetric();
    }
}
