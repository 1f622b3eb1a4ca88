package org.ep4j.gpu.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.gpu.driver.NicMemory.GpuDirect;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class CudaGpuDirectTest {
    /** Numbers are those of cuda.h: ordering 0, 100 (owner), 200 (all devices); flush options 1 (host), 2 (streams). */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        true  | 200 | 3 | ordered
        true  | 100 | 3 | ordered
        true  | 100 | 0 | ordered
        true  | 0   | 3 | flushed
        true  | 0   | 1 | flushed
        true  | 99  | 1 | flushed
        true  | 0   | 2 | refused
        true  | 0   | 0 | refused
        false | 0   | 0 | refused
        false | 200 | 3 | refused
        """)
    void attributesDecideWhatWritesNeed(boolean supported, int ordering, int options, String expected) {
        for (boolean dmaBuf : new boolean[] {true, false}) {
            GpuDirect facts = CudaNicMemory.facts(supported, dmaBuf, ordering, options);
            assertThat(facts.refusal().isPresent() ? "refused" : facts.flushed() ? "flushed" : "ordered")
                    .isEqualTo(expected);
            assertThat(facts.withoutDmaBuf().isEmpty()).isEqualTo(dmaBuf);
        }
    }

    @Test
    void refusalsNameTheAttributesOfTheDriver() {
        assertThat(CudaNicMemory.facts(false, true, 100, 3).refusal().orElseThrow())
                .contains("GPU_DIRECT_RDMA_SUPPORTED is 0");
        assertThat(CudaNicMemory.facts(true, true, 0, 2).refusal().orElseThrow())
                .contains("GPU_DIRECT_RDMA_WRITES_ORDERING is 0", "GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS is 2");
        assertThat(CudaNicMemory.facts(true, false, 0, 1).withoutDmaBuf().orElseThrow())
                .contains("DMA_BUF_SUPPORTED is 0", "open kernel modules", "5.12");
    }
}
