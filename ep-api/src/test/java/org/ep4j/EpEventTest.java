package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class EpEventTest {
    @Test
    void aCompletedEventIsDoneAndHasNoHandle() {
        EpEvent event = EpEvent.completed();
        assertThat(event.isDone()).isTrue();
        assertThat(event.nativeHandle()).isZero();
        event.await(Duration.ZERO);
    }

    @Test
    void waitingEndsWhenTheWorkIsDone() {
        CompletableFuture<String> work = new CompletableFuture<>();
        EpEvent event = EpEvent.of(work);
        assertThat(event.isDone()).isFalse();
        CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS).execute(() -> work.complete("done"));
        event.await(Guard.minute());
        assertThat(event.isDone()).isTrue();
    }

    @Test
    void theDeadlineIsKept() {
        EpEvent event = EpEvent.of(new CompletableFuture<>());
        for (Duration deadline : new Duration[] {Duration.ofMillis(20), Duration.ZERO, Duration.ofSeconds(-1)}) {
            assertThatThrownBy(() -> event.await(deadline))
                    .isInstanceOfSatisfying(
                            EpTimeoutException.class,
                            e -> assertThat(e.recourse()).isEqualTo(EpException.Recourse.FIX_CALL))
                    .hasMessageContaining(deadline.toString());
        }
    }

    @Test
    void anyDurationIsAccepted() {
        EpEvent.completed().await(Duration.ofSeconds(Long.MAX_VALUE));
        assertThatThrownBy(() -> EpEvent.of(new CompletableFuture<>()).await(Duration.ofSeconds(Long.MIN_VALUE)))
                .isInstanceOf(EpTimeoutException.class);
    }

    @Test
    void theWorksOwnFailureIsThrownAsItIs() {
        EpException failure = new EpStateException("closed");
        EpEvent event = EpEvent.of(CompletableFuture.failedFuture(failure));
        assertThat(event.isDone()).isTrue();
        assertThatThrownBy(() -> event.await(Duration.ofSeconds(1))).isSameAs(failure);
    }

    @Test
    void anotherFailureIsWrapped() {
        IllegalStateException failure = new IllegalStateException("broken");
        EpEvent event = EpEvent.of(CompletableFuture.failedFuture(failure));
        assertThatThrownBy(() -> event.await(Duration.ofSeconds(1)))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("broken")
                .hasCause(failure);
    }

    @Test
    void cancelledWorkIsAFailure() {
        CompletableFuture<Void> work = new CompletableFuture<>();
        work.cancel(true);
        assertThatThrownBy(() -> EpEvent.of(work).await(Duration.ofSeconds(1)))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("cancelled");
    }

    @Test
    void anInterruptEndsTheWaitAndStaysSet() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> EpEvent.of(new CompletableFuture<>()).await(Duration.ofSeconds(20)))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("interrupted");
        assertThat(Thread.interrupted()).isTrue();
    }
}
