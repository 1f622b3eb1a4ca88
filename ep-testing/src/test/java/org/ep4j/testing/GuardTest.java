package org.ep4j.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class GuardTest {
    @Test
    void oneFactorScalesAllLimits() {
        assertThat(Guard.minutes(1, Map.of())).isEqualTo(Duration.ofMinutes(1));
        assertThat(Guard.minutes(5, Map.of(Guard.VARIABLE, "10"))).isEqualTo(Duration.ofMinutes(50));
    }

    @Test
    void waitsUntilTheConditionHolds() {
        AtomicInteger asked = new AtomicInteger();
        Guard.until("asked three times", () -> asked.incrementAndGet() == 3);
        assertThat(asked).hasValue(3);
    }

    @Test
    void anInterruptEndsTheWait() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> Guard.until("never", () -> false))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("never");
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void aManualClockStandsStillUntilItIsAdvanced() {
        ManualClock clock = new ManualClock();
        long before = clock.nanoTime();
        assertThat(clock.nanoTime()).isEqualTo(before);
        clock.advance(Duration.ofSeconds(3));
        assertThat(clock.nanoTime() - before).isEqualTo(3_000_000_000L);
        assertThat(clock.longestSleep(Long.MAX_VALUE)).isEqualTo(1_000_000);
        assertThat(clock.longestSleep(10)).isEqualTo(10);
    }
}
