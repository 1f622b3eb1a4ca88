package org.ep4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.plan.offer.FlowLimits;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class NicFlowTest {
    @Test
    void aNicTakesNoMoreBytesThanItsLimitButForOneWrite() {
        NicFlow flow = new NicFlow(new FlowLimits(100, 0, 0, ""));
        assertThat(flow.take(60, false)).isTrue();
        assertThat(flow.take(41, false)).isFalse();
        assertThat(flow.take(40, false)).isTrue();
        assertThat(flow.bytes()).isEqualTo(100);
        flow.give(60, false);
        flow.give(40, false);
        assertThat(flow.take(1000, false)).isTrue();
        assertThat(flow.take(1, false)).isFalse();
        assertThat(flow.take(0, false)).isTrue();
    }

    @Test
    void writesAndMessagesHaveLimitsOfTheirOwnWhateverTheirSize() {
        NicFlow flow = new NicFlow(new FlowLimits(0, 1, 2, ""));
        assertThat(flow.take(1, false)).isTrue();
        assertThat(flow.take(1, false)).isFalse();
        assertThat(flow.take(1 << 20, true)).isTrue();
        assertThat(flow.take(1, true)).isTrue();
        assertThat(flow.take(1, true)).isFalse();
        flow.give(1, false);
        assertThat(flow.take(1, true)).isFalse();
        assertThat(flow.take(1 << 20, false)).isTrue();
    }

    @Test
    void aRefusedWriteHoldsNothing() {
        NicFlow flow = new NicFlow(new FlowLimits(100, 0, 2, ""));
        flow.takeAnyway(150, true);
        for (int i = 0; i < 3; i++) {
            assertThat(flow.take(1, true)).isFalse();
        }
        flow.give(150, true);
        assertThat(flow.take(50, true)).isTrue();
        assertThat(flow.take(50, true)).isTrue();
        assertThat(flow.bytes()).isEqualTo(100);
    }

    @Test
    void threadsTogetherKeepTheLimit() {
        NicFlow flow = new NicFlow(new FlowLimits(1000, 0, 3, ""));
        AtomicLong bytes = new AtomicLong();
        AtomicLong most = new AtomicLong();
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int seed = 0; seed < 4; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            threads.add(CompletableFuture.runAsync(() -> {
                Deque<Integer> own = new ArrayDeque<>();
                for (int i = 0; i < 20_000; i++) {
                    int length = 1 + random.nextInt(500);
                    if (flow.take(length, true)) {
                        most.accumulateAndGet(bytes.addAndGet(length), Math::max);
                        own.add(length);
                    }
                    if (!own.isEmpty() && random.nextBoolean()) {
                        bytes.addAndGet(-own.peek());
                        flow.give(own.remove(), true);
                    }
                }
                for (int length : own) {
                    bytes.addAndGet(-length);
                    flow.give(length, true);
                }
            }));
        }
        threads.forEach(CompletableFuture::join);
        assertThat(most.get()).isPositive().isLessThanOrEqualTo(1000);
        assertThat(flow.bytes()).isZero();
    }
}
