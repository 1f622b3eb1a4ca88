package org.ep4j.engine.pmix;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Groups of processes that mpirun started. */
@Tag("verify")
final class PmixBootstrapTest {
    @TempDir
    private Path folder;

    @BeforeEach
    void mpirun() {
        Mpirun.require();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void processesOfMpirunAreAGroup(int ranks) {
        Mpirun.Ran ran = Mpirun.run(ranks, Map.of(), List.of(), "gather", "1");

        assertThat(ran.code()).as(ran.all()).isZero();
        assertThat(ran.said())
                .containsExactlyElementsOf(IntStream.range(0, ranks)
                        .mapToObj(rank -> rank + " of " + ranks + ": " + names(ranks, 0))
                        .toList());
    }

    /** No machine has the name, so the ranks would not meet if they read it. */
    @Test
    void whereRankZeroIsIsNotReadUnderMpirun() {
        Map<String, String> elsewhere = Map.of("MASTER_ADDR", "no-such-host.invalid", "MASTER_PORT", "29500");
        Mpirun.Ran ran = Mpirun.run(2, elsewhere, List.of("-x", "MASTER_ADDR", "-x", "MASTER_PORT"), "gather", "1");

        assertThat(ran.code()).as(ran.all()).isZero();
        assertThat(ran.said()).containsExactly("0 of 2: " + names(2, 0), "1 of 2: " + names(2, 0));
    }

    /** 300 times: with a membership for each join, one join in 80 failed. */
    @Test
    void aJobCanJoinAgain() {
        int times = 300;
        Mpirun.Ran ran = Mpirun.run(2, Map.of(), List.of(), "gather", Integer.toString(times));

        assertThat(ran.code()).as(ran.all()).isZero();
        assertThat(ran.said())
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 2 * times)
                        .mapToObj(i -> i / times + " of 2: " + names(2, i % times))
                        .toList());
    }

    /** The launcher would end the others at once, without the option that lets them live. */
    @Test
    void aRankThatDiedIsLostForTheOthers() {
        Mpirun.Ran ran = Mpirun.run(3, Map.of(), List.of("--enable-recovery"), "kill");

        assertThat(ran.said()).as(ran.all()).containsExactly("0 sees LOST", "2 sees LOST");
    }

    @Test
    void aProcessThatDoesNotJoinEndsTheWaitOfTheOthers() {
        Mpirun.Ran ran = Mpirun.run(
                2,
                Map.of("EP_SETUP_TIMEOUT", "1500ms"),
                List.of(),
                "absent",
                folder.resolve("ended").toString());

        assertThat(ran.said()).as(ran.all()).singleElement().asString().contains("EpTimeoutException", "PMIx_Fence");
    }

    private static String names(int ranks, int time) {
        return IntStream.range(0, ranks)
                .mapToObj(rank -> "r" + rank + "t" + time)
                .collect(Collectors.joining(" "));
    }
}
