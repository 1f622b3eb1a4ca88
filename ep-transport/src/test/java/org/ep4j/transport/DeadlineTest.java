package org.ep4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class DeadlineTest {
    @Test
    void aDeadlineAtAPointInTimeTellsItsLengthInWholeMilliseconds() {
        long end = System.nanoTime() + Guard.minute().toNanos();
        Deadline deadline = Deadline.at(end);
        assertThat(deadline.nanoTime()).isEqualTo(end);
        assertThat(deadline.passed()).isFalse();
        assertThat(deadline.whole()).isPositive().isLessThanOrEqualTo(Guard.minute());
        assertThat(deadline.whole().toNanos() % 1_000_000).isZero();
    }

    @Test
    void aDeadlineAtAPointThatIsOverHasNoLength() {
        Deadline deadline = Deadline.at(System.nanoTime() - 5);
        assertThat(deadline.passed()).isTrue();
        assertThat(deadline.whole()).isEqualTo(Duration.ZERO);
    }
}
