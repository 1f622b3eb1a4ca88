package org.ep4j.cli.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class StatisticsTest {
    private final Statistics statistics = new Statistics();

    @Test
    void percentilesAreTimesThatWereSeen() {
        IntStream.rangeClosed(1, 200).forEach(i -> statistics.recovered(Fault.KILL, Duration.ofMillis(201 - i)));
        statistics.recovered(Fault.STOP, Duration.ofSeconds(5));
        assertThat(statistics.recoveriesByFault().get(Fault.KILL)).isEqualTo(new Statistics.Times(200, 100, 198, 200));
        assertThat(statistics.recoveries()).isEqualTo(new Statistics.Times(201, 101, 199, 5000));
    }

    @Test
    void oneTimeIsAllPercentilesAndNoTimeIsNone() {
        assertThat(statistics.toldTimes()).isEqualTo(new Statistics.Times(0, 0, 0, 0));
        statistics.told(Duration.ofMillis(7));
        assertThat(statistics.toldTimes()).isEqualTo(new Statistics.Times(1, 7, 7, 7));
    }

    @Test
    void anyProblemFailsTheRun() {
        statistics.roundEnded(Fault.NONE);
        assertThat(statistics.passed()).isTrue();
        for (Problem.Kind kind : Problem.Kind.values()) {
            Statistics one = new Statistics();
            one.problem(new Problem(kind, 1, Fault.KILL, "what"));
            assertThat(one.passed()).as("%s", kind).isFalse();
            assertThat(one.count(kind)).isEqualTo(1);
        }
    }

    @Test
    void roundsAreCountedByFault() {
        statistics.roundEnded(Fault.STOP);
        statistics.roundEnded(Fault.STOP);
        statistics.roundEnded(Fault.NONE);
        assertThat(statistics.rounds()).isEqualTo(3);
        assertThat(statistics.roundsByFault()).containsEntry(Fault.STOP, 2).containsEntry(Fault.NONE, 1);
    }
}
