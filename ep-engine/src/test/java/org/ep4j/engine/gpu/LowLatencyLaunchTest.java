package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.gpu.GpuInfo;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Shared memory of the kernels that send: it fits what a block may have, on every GPU. */
@Tag("verify")
final class LowLatencyLaunchTest {
    /** Of peers, masks and counts, which blocks have beside what a launch gives them. */
    private static final int STATIC_BYTES_OF_RANK = 16;

    /** In bytes a block: sm_86 and sm_89, sm_80, sm_90, and 64 KiB as on AMD. */
    @ParameterizedTest
    @ValueSource(ints = {101_376, 166_912, 232_448, 65_536})
    void aSendingBlockFits(int sharedBytes) {
        GpuInfo info = GpuInfo.of("sm_00", 100, sharedBytes, 32);
        for (int ranks : List.of(1, 8, 72, 512)) {
            for (int experts : List.of(8, 256, 4096, 6900, 8192, 8193, 1 << 20)) {
                for (int hidden : List.of(64, 7168, 16_384, 1 << 17)) {
                    EpShape shape = EpShape.builder(hidden, experts, 8)
                            .maxLowLatencyTokens(1)
                            .build();
                    int head = new BufferLayout(shape, ranks).messageHead();
                    for (boolean channels : List.of(false, true)) {
                        int tables = LowLatencyLaunch.tableExperts(head, ranks, channels, sharedBytes);
                        LowLatencyLaunch launch = launch(info, true, hidden, experts, head, tables, channels);
                        int fixed = STATIC_BYTES_OF_RANK * ranks
                                + (channels && ranks <= 64 ? PathTable.ENTRY_BYTES * ranks : 0);
                        assertThat(List.of(launch.sendBytes(), launch.rowBytes(ranks)))
                                .as("%d ranks, %d experts, hidden %d, channels %s", ranks, experts, hidden, channels)
                                .allMatch(bytes -> bytes + fixed <= sharedBytes - 1024);
                    }
                }
            }
        }
    }

    /** Wavefronts of 64 lanes, 64 KiB for a block with what it has beside, no bulk copies: as on AMD. */
    @Test
    void allBlocksFitOnAmd() {
        GpuInfo info = GpuInfo.of("gfx942", 304, 65_536, 64);
        for (int hidden : List.of(64, 7168, 16_384, 1 << 17)) {
            EpShape shape =
                    EpShape.builder(hidden, 256, 8).maxLowLatencyTokens(1).build();
            int head = new BufferLayout(shape, 64).messageHead();
            int tables = LowLatencyLaunch.tableExperts(head, 64, true, info.sharedBytes());
            LowLatencyLaunch pieces = launch(info, false, hidden, 256, head, tables, true);
            assertThat(List.of(
                            pieces.sendBytes(),
                            pieces.receiveBytes(),
                            pieces.sumBytes(),
                            pieces.rowBytes(64),
                            pieces.codedSendBytes(),
                            pieces.codedReceiveBytes()))
                    .as("hidden %d", hidden)
                    .allMatch(bytes -> bytes <= info.sharedBytes() - 4096);
        }
    }

    private static LowLatencyLaunch launch(
            GpuInfo info, boolean bulk, int hidden, int experts, int head, int tables, boolean channels) {
        return new LowLatencyLaunch(
                info, bulk, info.multiprocessors(), hidden, experts, experts, head, tables, channels, 1L << 30);
    }

    @Test
    void tablesAreThereForAllExpertsThatModelsHave() {
        assertThat(LowLatencyLaunch.tableExperts(512, 64, true, 101_376)).isGreaterThan(4096);
        assertThat(LowLatencyLaunch.tableExperts(512, 64, true, 232_448)).isEqualTo(8192);
        assertThat(LowLatencyLaunch.tableExperts(60_000, 64, true, 65_536)).isZero();
    }
}
