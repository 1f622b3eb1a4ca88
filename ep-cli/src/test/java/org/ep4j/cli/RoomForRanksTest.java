package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.ep4j.doctor.DoctorInput.Need;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("verify")
final class RoomForRanksTest {
    private static final Path FOLDER = Path.of("/dev/shm");

    @Test
    void theRefusalNamesNeedLimitAndFix() {
        assertThat(RoomForRanks.refusal(new Need(200, 200L << 20), FOLDER, 2L << 30))
                .hasValue("200 ranks need 39.1 GiB of shared memory for their buffers, but /dev/shm has 2.0 GiB free;"
                        + " start fewer ranks (--ranks), choose a smaller --hidden or fewer tokens, make the folder bigger"
                        + " (docker run --shm-size=41g; as root: mount -o remount,size=41g /dev/shm), or set ep.shm.dir to"
                        + " a folder with more room");
    }

    @Test
    void whatFitsIsNotRefused() {
        assertThat(RoomForRanks.refusal(new Need(4, 16), FOLDER, 64)).isEmpty();
        assertThat(RoomForRanks.refusal(new Need(4, 16), FOLDER, 63)).isPresent();
        assertThat(RoomForRanks.refusal(new Need(1024, Long.MAX_VALUE / 1024), FOLDER, Long.MAX_VALUE))
                .isEmpty();
    }

    @Test
    void aNeedBeyondAllNumbersIsRefused() {
        assertThat(RoomForRanks.refusal(new Need(1024, Long.MAX_VALUE / 2), FOLDER, 2L << 30))
                .hasValueSatisfying(why -> assertThat(why).startsWith("1024 ranks need 4398046511104.0 GiB"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"demo --prefill-tokens", "bench --tokens"})
    void ranksThatDoNotFitAreNotStarted(String command) {
        Ran ran = Ran.ep((command + " 1000000 --hidden 65536 --ranks 16").split(" ", -1));
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.out()).isEmpty();
        assertThat(ran.err()).startsWith("ep: 16 ranks need ").contains(" free; start fewer ranks");
    }

    @Test
    void aBackendThatTakesNoSharedMemoryIsNotLookedAt() {
        Ran ran =
                Ran.ep("demo --ranks 2 --backend nothing-here --prefill-tokens 1000000 --hidden 65536".split(" ", -1));
        assertThat(ran.err()).doesNotContain("of shared memory");
    }
}
