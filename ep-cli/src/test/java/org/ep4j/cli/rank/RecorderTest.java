package org.ep4j.cli.rank;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.cli.rank.RankMessage.Samples;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class RecorderTest {
    private static final int BYTES = 1 << 16;
    private static final Recorder.Volume VOLUME = new Recorder.Volume(3, 1, 64);

    private final Recorder recorder = new Recorder(System::nanoTime);
    private byte[] allocated = {};

    private void allocate() {
        recorder.time("allocates", VOLUME, () -> {
            allocated = new byte[BYTES];
        });
    }

    @Test
    void aRoundForAllocationsKeepsTheBytesOfTheCallAndNoTime() {
        recorder.allocations();
        allocate();
        recorder.time("allocates", VOLUME, () -> {
            allocated[0]++;
        });
        Samples samples = recorder.samples().get(0);
        assertThat(samples.nanos()).isEmpty();
        assertThat(samples.allocatedBytes()).hasSize(2);
        assertThat(samples.allocatedBytes().get(0)).isBetween((long) BYTES, BYTES + 1024L);
        assertThat(samples.allocatedBytes().get(1)).isLessThan(1024);
    }

    @Test
    void aCountedRoundKeepsTheTimeAlone() {
        recorder.allocations();
        recorder.counting(true);
        allocate();
        Samples samples = recorder.samples().get(0);
        assertThat(samples.nanos()).hasSize(1);
        assertThat(samples.allocatedBytes()).isEmpty();
    }

    @Test
    void aRoundBeforeTheCountedOnesKeepsNothing() {
        recorder.counting(false);
        allocate();
        assertThat(recorder.samples()).isEmpty();
    }
}
