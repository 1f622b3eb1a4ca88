package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class RankDeviceTest {
    @ParameterizedTest
    @CsvSource({
        // setting, local rank, devices, meaning
        "cuda, 0, 8, cuda:0",
        "cuda, 3, 8, cuda:3",
        "cuda, 3, 3, cuda:0",
        "cuda, 7, 1, cuda:0",
        "cuda:5, 3, 8, cuda:5",
        "cuda:5, 3, 1, cuda:5",
        "host, 3, 1, host:0",
        "cuda, 3, 0, cuda:0",
        "cuda, x, 4, cuda:0",
        "cuda, '', 4, cuda:0",
    })
    void aTypeAloneIsTheShareOfTheRank(String setting, String localRank, int count, String meant) {
        assertThat(Joining.device(setting, Map.of("LOCAL_RANK", localRank), count))
                .isEqualTo(Device.parse(meant));
    }

    @Test
    void launchersSayItInDifferentWays() {
        assertThat(Joining.device("cuda", Map.of(), 4).ordinal()).isZero();
        assertThat(Joining.device("cuda", Map.of("OMPI_COMM_WORLD_LOCAL_RANK", "2"), 4)
                        .ordinal())
                .isEqualTo(2);
        assertThat(Joining.device("cuda", Map.of("SLURM_LOCALID", "3", "PMI_LOCAL_RANK", "1"), 4)
                        .ordinal())
                .isEqualTo(3);
        assertThat(Joining.device("cuda", Map.of("SLURM_LOCALID", "3", "LOCAL_RANK", "1"), 4)
                        .ordinal())
                .isEqualTo(1);
    }

    @Test
    void nonsenseIsRefused() {
        assertThatThrownBy(() -> Joining.device("cuda:x", Map.of(), 4)).isInstanceOf(EpArgumentException.class);
    }
}
