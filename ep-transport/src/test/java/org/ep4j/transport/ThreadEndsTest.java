package org.ep4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ThreadEndsTest {
    private static final Duration LONG = Guard.minute();

    @Test
    void aThreadIsWaitedForByOneThatIsInterrupted() {
        Thread waiting = Thread.currentThread();
        // Loads the class, so that nothing but the wait meets the interrupt.
        ThreadEnds.await(List.of(new Thread(() -> {})), LONG);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        Thread other = new Thread(() -> {
            waiting.interrupt();
            while (waiting.isInterrupted()) {
                Thread.onSpinWait();
            }
        });
        other.start();
        assertThat(ThreadEnds.await(List.of(other), LONG)).isEmpty();
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
        assertThat(ThreadEnds.await(List.of(stuck), Duration.ofMillis(5))).containsExactly("stuck");
        end.countDown();
        stuck.join();
    }
}
