package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NicWritesTest {
    /** Numbers are those of cuda.h: ordering 0, 100 (owner), 200 (all devices); flush options 1 (host), 2 (streams). */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    true  | 200 | 3 | ORDERED
                    true  | 100 | 3 | ORDERED
                    true  | 100 | 0 | ORDERED
                    true  | 0   | 3 | FLUSHED
                    true  | 0   | 1 | FLUSHED
                    true  | 99  | 1 | FLUSHED
                    true  | 0   | 2 | REFUSED
                    true  | 0   | 0 | REFUSED
                    false | 0   | 0 | REFUSED
                    false | 200 | 3 | REFUSED
                    """)
    void theGpuTellsWhatWritesNeed(boolean supported, int ordering, int options, NicWrites expected) {
        assertThat(NicWrites.of(new GpuDirect(supported, true, ordering, options)))
                .isEqualTo(expected);
        assertThat(NicWrites.of(new GpuDirect(supported, false, ordering, options)))
                .isEqualTo(expected);
    }
}
