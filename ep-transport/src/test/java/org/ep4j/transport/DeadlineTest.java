package org.ep4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class DeadlineTest {
    @Test
    void aDeadlineAtAPointInTimeHasALengthInWholeMilliseconds() {
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

    @Test
    void aThreadIsWaitedForByOneThatIsInterrupted() {
        Thread waiting = Thread.currentThread();
        // Loads the class, so that the interrupt ends nothing but the wait.
        Deadline.in(Guard.minute()).awaitEnd(List.of(new Thread(() -> {})));
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        Thread other = new Thread(() -> {
            waiting.interrupt();
            while (waiting.isInterrupted()) {
                Thread.onSpinWait();
            }
        });
        other.start();
        assertThat(Deadline.in(Guard.minute()).awaitEnd(List.of(other))).isEmpty();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(other.isAlive()).isFalse();
    }

    @Test
    void aThreadThatRunsOnIsNamed() throws InterruptedException {
        CountDownLatch end = new CountDownLatch(1);
        Thread stuck = new Thread(
                () -> {
                    boolean ended = false;
                    while (!ended) {
                        try {
                            end.await();
                            ended = true;
                        } catch (InterruptedException e) {
                            ended = false;
                        }
                    }
                },
                "stuck");
        stuck.start();
        assertThat(Deadline.in(Duration.ofMillis(5)).awaitEnd(List.of(stuck))).containsExactly("stuck");
        end.countDown();
        stuck.join();
    }
}
