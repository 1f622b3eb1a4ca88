package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ThrottledLogTest {
    @Test
    void tenLinesAMinuteThenOneWithTheNumberLeftOut() {
        AtomicLong now = new AtomicLong(Long.MAX_VALUE - 5);
        try (LogCapture log = new LogCapture()) {
            ThrottledLog throttled = new ThrottledLog(now::get);
            for (int i = 0; i < 25; i++) {
                throttled.warn("line " + i);
            }
            assertThat(log.lines()).hasSize(10);
            now.addAndGet(TimeUnit.SECONDS.toNanos(59));
            throttled.turn(false);
            assertThat(log.lines()).hasSize(10);
            now.addAndGet(TimeUnit.SECONDS.toNanos(1));
            throttled.turn(false);
            assertThat(log.lines()).hasSize(11).last().asString().contains("left out 15 more");
            throttled.warn("again");
            assertThat(log.lines()).hasSize(12);
        }
    }
}
