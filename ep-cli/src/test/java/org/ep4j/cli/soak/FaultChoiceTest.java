package org.ep4j.cli.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Optional;
import org.ep4j.EpArgumentException;
import org.junit.jupiter.api.Test;

final class FaultChoiceTest {
    private static final Surroundings SHARED_MEMORY =
            new Surroundings("host-shm", true, 4, List.of(), true, Optional.empty());

    @Test
    void faultsAreTakenInTheOrderOfTheirDeclarationOnceEach() {
        assertThat(FaultChoice.of(List.of("stop", "none", "stop"), SHARED_MEMORY)
                        .faults())
                .containsExactly(Fault.NONE, Fault.STOP);
    }

    @Test
    void allLeavesOutWhatCannotBeInjectedAndSaysWhy() {
        FaultChoice all = FaultChoice.of(List.of("all"), SHARED_MEMORY);
        assertThat(all.faults()).doesNotContain(Fault.PORT_DOWN).hasSize(Fault.values().length - 1);
        assertThat(all.leftOut()).containsOnlyKeys(Fault.PORT_DOWN);
    }

    @Test
    void threadsGetNoSignals() {
        Surroundings threads = new Surroundings("host-shm", false, 4, List.of(), true, Optional.empty());
        assertThat(FaultChoice.of(List.of("all"), threads).faults())
                .containsExactly(Fault.NONE, Fault.SLOW, Fault.RESET, Fault.SKEWED_CLOSE, Fault.SHM_FULL);
        assertThatThrownBy(() -> FaultChoice.of(List.of("none", "kill"), threads))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("kill")
                .hasMessageContaining("ranks are threads");
    }

    @Test
    void aFaultThatNeedsMoreRanksIsRefused() {
        Surroundings two = new Surroundings("host-shm", true, 2, List.of(), true, Optional.empty());
        assertThatThrownBy(() -> FaultChoice.of(List.of("double-kill"), two))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("needs 3 ranks, not 2");
    }

    @Test
    void aPortIsTakenDownOnlyWhereAnotherTakesOver() {
        Surroundings one = new Surroundings("ibrc-multiqp", true, 2, List.of("rail0a"), true, Optional.of("no folder"));
        assertThatThrownBy(() -> FaultChoice.of(List.of("port-down"), one)).hasMessageContaining("rail0a");
        Surroundings user =
                new Surroundings("ibrc-multiqp", true, 2, List.of("rail0a", "rail0b"), false, Optional.of("no folder"));
        assertThatThrownBy(() -> FaultChoice.of(List.of("port-down"), user)).hasMessageContaining("root");
        Surroundings root =
                new Surroundings("ibrc-multiqp", true, 2, List.of("rail0a", "rail0b"), true, Optional.of("no folder"));
        assertThat(FaultChoice.of(List.of("port-down"), root).faults()).containsExactly(Fault.PORT_DOWN);
        assertThatThrownBy(() -> FaultChoice.of(List.of("port-down"), SHARED_MEMORY))
                .hasMessageContaining("--backend ibrc-multiqp");
    }

    @Test
    void aWordThatIsNoFaultIsRefusedWithThoseThatAre() {
        assertThatThrownBy(() -> FaultChoice.of(List.of("all", "kill"), SHARED_MEMORY))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("--faults")
                .hasMessageContaining("double-kill");
        assertThatThrownBy(() -> FaultChoice.of(List.of(), SHARED_MEMORY)).isInstanceOf(EpArgumentException.class);
    }
}
