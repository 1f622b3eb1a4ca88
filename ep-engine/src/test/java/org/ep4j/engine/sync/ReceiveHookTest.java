package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.ep4j.EpEvent;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Calls of {@code receive()}, and the event of an operation before and after them. */
@Tag("verify")
final class ReceiveHookTest {
    private static final Duration SHORT = Duration.ofMillis(1);

    private final ReceiveHook hook = new ReceiveHook(true);
    private final CompletableFuture<Void> end = new CompletableFuture<>();

    private void receive(EpEvent event) {
        hook.take();
        hook.run(() -> event, () -> false);
    }

    private void fail(boolean isPending) {
        hook.take();
        assertThatThrownBy(() -> hook.run(
                        () -> {
                            throw new EpException("no room");
                        },
                        () -> isPending))
                .hasMessage("no room");
    }

    @Test
    void anEarlierEventEndsWithTheReceivingHalf() {
        EpEvent early = hook.event();
        assertThat(early.isDone()).isFalse();
        assertThat(early.nativeHandle()).isZero();
        assertThatThrownBy(() -> early.await(SHORT)).isInstanceOf(EpTimeoutException.class);
        assertThatThrownBy(() -> hook.requireCalled("dispatch"))
                .isInstanceOf(EpStateException.class)
                .hasMessage("the dispatch has not been received; call receive() first");

        receive(new EpEvent() {
            @Override
            public boolean isDone() {
                return end.isDone();
            }

            @Override
            public void await(Duration timeout) {
                EpEvent.of(end).await(timeout);
            }

            @Override
            public long nativeHandle() {
                return 7;
            }
        });
        hook.requireCalled("dispatch");
        assertThat(early.isDone()).isFalse();
        assertThat(early.nativeHandle()).isEqualTo(7);
        assertThatThrownBy(() -> early.await(SHORT)).isInstanceOf(EpTimeoutException.class);
        end.complete(null);
        assertThat(early.isDone()).isTrue();
        early.await(SHORT);
    }

    @Test
    void theEventOfAReceivedOperationIsTheOneOfItsReceivingHalf() {
        EpEvent event = EpEvent.of(end);
        receive(event);
        assertThat(hook.event()).isSameAs(event);
    }

    @Test
    void receivesOnlyOnce() {
        receive(EpEvent.completed());
        assertThatThrownBy(hook::take).isInstanceOf(EpStateException.class).hasMessageContaining("called before");
    }

    @Test
    void receivesAgainAfterAFailureBeforeItsBegin() {
        EpEvent early = hook.event();
        fail(true);
        assertThat(early.isDone()).isFalse();
        receive(EpEvent.completed());
        assertThat(early.isDone()).isTrue();
    }

    @Test
    void aReceivingHalfThatHasBegunFailsForGood() {
        EpEvent early = hook.event();
        fail(false);
        assertThat(early.isDone()).isTrue();
        assertThatThrownBy(() -> early.await(SHORT)).hasMessage("no room");
        assertThatThrownBy(() -> hook.event().await(SHORT)).hasMessage("no room");
        assertThatThrownBy(() -> hook.requireCalled("dispatch")).hasMessage("no room");
        assertThatThrownBy(hook::take).isInstanceOf(EpStateException.class).hasMessageContaining("called before");
    }

    @Test
    void anOperationWithoutTheHookHasNothingToReceive() {
        ReceiveHook none = new ReceiveHook(false);
        assertThat(none.isRequested()).isFalse();
        none.requireCalled("dispatch");
        assertThatThrownBy(none::take)
                .isInstanceOf(EpStateException.class)
                .hasMessageContaining("only for operations with the receive hook");
    }
}
