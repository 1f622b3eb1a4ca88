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
 * The rules of {@link PostedGpuTckTest} with NICs that read and write memory of emulated GPUs, which do not see writes before a
 * flush (EMULATED_CUDA_WRITES_ORDERING, set by the build).
 */
@Tag("verify")
class DeviceWindowTckTest extends EpBackendTck {
    @Override
    protected TckSubject subject() {
        return TckSubject.of(PostedThreadsProvider.ID, device())
                .without(Capability.PROCESSES)
                .with(Map.of(EpKeys.GPU_WINDOW.name(), "device", PostedThreadsProvider.REGISTERS.name(), "dma-buf"));
    }

    /** Returns the type of the GPUs. */
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

    /** Ensures that the kit finds a missing flush. The build's run on HIP, which repeats these tests, needs no flush. */
    @Test
    void writesBecomeVisibleOnlyByAFlush() {
        boolean hip = System.getenv("EP_HIP_RUNTIME") != null;
        CudaNicMemory.facts(Device.parse("cuda:0"))
                .ifPresent(facts -> assertThat(facts.flushed()).isEqualTo(!hip));
    }
}
