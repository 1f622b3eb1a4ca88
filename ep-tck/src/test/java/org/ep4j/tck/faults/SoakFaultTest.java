package org.ep4j.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.tck.soak.Fault;
import org.ep4j.tck.soak.Soak;
import org.ep4j.tck.soak.SoakReport;
import org.ep4j.tck.soak.SoakReport.Kind;
import org.ep4j.tck.soak.SoakRequest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Reports of soaks on groups that work, and on faulty groups. */
@Tag("verify")
final class SoakFaultTest {
    private static SoakReport soak(
            Class<? extends GroupFactory> factory,
            Map<String, String> settings,
            long rounds,
            long seed,
            Fault... faults) {
        TckSubject subject = TckSubject.of("host-shm", "host").with(settings).with(factory);
        List<SoakReport> seen = new ArrayList<>();
        SoakReport report = Soak.run(
                new SoakRequest(subject, 3, List.of(faults), OptionalLong.of(rounds), Optional.empty(), seed, 1),
                seen::add);
        assertThat(seen).extracting(SoakReport::rounds).isEqualTo(rounds(report.rounds()));
        return report;
    }

    private static List<Long> rounds(long last) {
        List<Long> all = new ArrayList<>();
        for (long round = 1; round <= last; round++) {
            all.add(round);
        }
        return all;
    }

    @Test
    void ranksThatAreKilledAreLeftOutAndTheOthersContinue() {
        SoakReport report = soak(GroupFactory.Plain.class, Map.of(), 1, 1, Fault.KILL);
        assertThat(report.problems()).isEmpty();
        assertThat(report.files()).isEmpty();
        assertThat(report.faults()).containsExactly(Map.entry(Fault.KILL, 1L));
        assertThat(report.recoveries().ascending()).hasSize(1);
        assertThat(report.exchanges()).isGreaterThan(2 * 20);
    }

    @Tag("all")
    @Test
    void roundsWithoutALossKeepTheirRanks() {
        SoakReport report =
                soak(GroupFactory.Plain.class, Map.of(), 4, 3, Fault.NONE, Fault.SLOW, Fault.PAUSE, Fault.CLOSE);
        assertThat(report.problems()).isEmpty();
        assertThat(report.recoveries().ascending()).isEmpty();
        assertThat(report.rounds()).isEqualTo(4);
    }

    @Tag("all")
    @Test
    void ranksThatAreRefusedALargeBufferContinue() {
        SoakReport report = soak(GroupFactory.Plain.class, Map.of(), 2, 3, Fault.FULL);
        assertThat(report.problems()).isEmpty();
        assertThat(report.files()).isEmpty();
        assertThat(report.exchanges()).isGreaterThan(3 * 20);
    }

    @Test
    void ranksThatCannotJoinAtAllEndTheSoakBeforeItsFirstRound() {
        assertThatThrownBy(() ->
                        soak(GroupFactory.Plain.class, Map.of("ep.backend.exclude", "host-shm"), 3, 3, Fault.NONE))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll("ranks cannot join a group here", "host-shm");
    }

    @Test
    void aWrongRowIsReportedWithItsSeedAndRank() {
        SoakReport report = soak(RowFaults.WrongCombinedBit.class, Map.of(), 1, 5, Fault.NONE);
        assertThat(report.passed()).isFalse();
        assertThat(report.problems()).singleElement().satisfies(problem -> {
            assertThat(problem.kind()).isEqualTo(Kind.WRONG_ROW);
            assertThat(problem.seed()).isEqualTo(5);
            assertThat(problem.detail()).contains("combined out[token ");
        });
    }
}
