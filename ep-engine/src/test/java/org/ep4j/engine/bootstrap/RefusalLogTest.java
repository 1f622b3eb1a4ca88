package org.ep4j.engine.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import org.ep4j.engine.LogCapture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** However many strangers come, a log of the rendezvous stays short. */
@Tag("verify")
final class RefusalLogTest {
    @Test
    void logsTenAMinuteAndCountsTheRest() {
        TestClock clock = new TestClock();
        try (LogCapture capture = new LogCapture(RendezvousServer.class)) {
            RefusalLog log = new RefusalLog(System.getLogger(RendezvousServer.class.getName()), clock);
            for (int i = 0; i < 1000; i++) {
                log.refused("/192.0.2.1:" + i, "no");
            }
            assertThat(capture.lines()).hasSize(RefusalLog.MOST).allMatch(line -> line.contains("refused /192.0.2.1"));
            clock.advance(RefusalLog.PERIOD);
            log.refused("/192.0.2.2:1", "no");
            assertThat(capture.lines()).hasSize(RefusalLog.MOST + 2);
            assertThat(capture.lines().get(RefusalLog.MOST)).contains("refused 990 more connections");
            log.sumUp();
            assertThat(capture.lines()).hasSize(RefusalLog.MOST + 2);
        }
    }
}
