package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.ep4j.Device;
import org.ep4j.config.EpKeys;
import org.ep4j.gpu.cuda.CudaNicMemory;
import org.ep4j.tck.Capability;
import org.ep4j.tck.EpBackendTck;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.Rule;
import org.ep4j.tck.TckSubject;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The rules of {@link PostedGpuTckTest} where NICs read and write memory of emulated GPUs, which see nothing of it before it is
 * flushed (EMULATED_CUDA_WRITES_ORDERING, set by the build).
 */
@Tag("verify")
class DeviceWindowTckTest extends EpBackendTck {
    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, device())
                .without(Capability.PROCESSES)
                .with(Map.of(EpKeys.GPU_WINDOW.name(), "device", PostedThreadsProvider.REGISTERS.name(), "dma-buf"));
    }

    /** Kind of the GPUs. */
    String device() {
        return "cuda";
    }

    @Override
    protected List<RankMode> modes() {
        return List.of(RankMode.THREADS);
    }

    @Override
    protected List<Integer> ranks() {
        return List.of(3);
    }

    @Override
    protected List<Rule> selected() {
        return PostedGpuTckTest.rules();
    }

    /** Otherwise a flush that is missing would not be found. The build's run on HIP, where named tests run again, holds nothing back. */
    @Test
    void whatIsWrittenIsHeldBackUntilItIsFlushed() {
        boolean hip = System.getenv("EP_HIP_RUNTIME") != null;
        CudaNicMemory.facts(Device.parse("cuda:0"))
                .ifPresent(facts -> assertThat(facts.flushed()).isEqualTo(!hip));
    }
}
