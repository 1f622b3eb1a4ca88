package org.ep4j.tck.posted;

import java.util.List;
import java.util.Map;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.Rule;
import org.ep4j.tck.TckSubject;

/**
 * The rules of {@link PostedGpuTckTest} where NICs read and write memory of emulated GPUs, which see nothing of it before it is
 * flushed (EMULATED_CUDA_WRITES_ORDERING, set by the build).
 */
class DeviceWindowTckTest extends EpBackendTck {
    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, "cuda")
                .without(Capability.PROCESSES)
                .with(Map.of(EpKeys.WINDOW.name(), "device", PostedThreadsProvider.REGISTERS.name(), "dma-buf"));
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(3);
    }

    @Override
    protected List<Rule> selected() {
        return PostedGpuTckTest.rules();
    }
}
