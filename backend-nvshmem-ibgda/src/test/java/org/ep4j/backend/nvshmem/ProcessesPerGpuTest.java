package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.ep4j.Device;
import org.ep4j.EpUnavailableException;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ProcessesPerGpuTest {
    private static RankProfile rank(int rank, Map<String, String> identity) {
        BackendProfile profile = BackendProfile.of(Map.of(), identity);
        return RankProfile.builder(rank, "host", Device.cuda(0))
                .hostName("a")
                .pid(100 + rank)
                .backends(Map.of(NvshmemProvider.ID, profile))
                .build();
    }

    /** A rank on each of the GPUs, by number. */
    private static List<RankProfile> on(int... gpus) {
        return IntStream.range(0, gpus.length)
                .mapToObj(rank -> rank(rank, Map.of(NvshmemFacts.GPU, "machine " + gpus[rank])))
                .toList();
    }

    @Test
    void threeProcessesOnTwoGpusAreRefusedAndNamed() {
        assertThatThrownBy(() -> ProcessesPerGpu.check(on(0, 1, 0)))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(
                        NvshmemProbe.PROCESS,
                        "3 processes on 2 GPUs",
                        "one GPU has 2 of them (rank 0 (a, pid 100, cuda:0), rank 2 (a, pid 102, cuda:0))",
                        "another GPU has 1 (rank 1 (a, pid 101, cuda:0))",
                        "start one process for each GPU");
    }

    @Property
    void onlyEqualSharesPass(@ForAll @Size(min = 1, max = 12) List<@IntRange(max = 4) Integer> gpus) {
        int[] counts = new int[5];
        gpus.forEach(gpu -> counts[gpu]++);
        long different =
                Arrays.stream(counts).filter(count -> count > 0).distinct().count();
        List<RankProfile> ranks = on(gpus.stream().mapToInt(Integer::intValue).toArray());
        if (different == 1) {
            assertThatCode(() -> ProcessesPerGpu.check(ranks)).doesNotThrowAnyException();
        } else {
            assertThatThrownBy(() -> ProcessesPerGpu.check(ranks)).isInstanceOf(EpUnavailableException.class);
        }
    }

    @Test
    void aGpuThatIsNotKnownIsLeftToTheLibrary() {
        List<RankProfile> ranks = List.of(
                rank(0, Map.of(NvshmemFacts.GPU, "machine 0")),
                rank(1, Map.of(NvshmemFacts.GPU, "machine 0")),
                rank(2, Map.of()));
        assertThatCode(() -> ProcessesPerGpu.check(ranks)).doesNotThrowAnyException();
    }
}
