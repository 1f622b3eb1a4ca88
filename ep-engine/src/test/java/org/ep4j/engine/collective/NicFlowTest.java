package org.ep4j.engine.collective;

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
    private static final int LARGE = FlowLimits.LARGE;

    @Test
    void aNicTakesNoMoreBytesThanItsLimitButForOneWrite() {
        NicFlow flow = new NicFlow(new FlowLimits(100, 0, 0, ""));
        assertThat(flow.take(60)).isTrue();
        assertThat(flow.take(41)).isFalse();
        assertThat(flow.take(40)).isTrue();
        assertThat(flow.bytes()).isEqualTo(100);
        flow.give(60);
        flow.give(40);
        assertThat(flow.take(1000)).isTrue();
        assertThat(flow.take(1)).isFalse();
        assertThat(flow.take(0)).isTrue();
    }

    @Test
    void largeAndSmallWritesHaveLimitsOfTheirOwn() {
        NicFlow flow = new NicFlow(new FlowLimits(0, 1, 2, ""));
        assertThat(flow.take(LARGE)).isTrue();
        assertThat(flow.take(LARGE)).isFalse();
        assertThat(flow.take(LARGE - 1)).isTrue();
        assertThat(flow.take(1)).isTrue();
        assertThat(flow.take(1)).isFalse();
        flow.give(LARGE);
        assertThat(flow.take(1)).isFalse();
        assertThat(flow.take(LARGE)).isTrue();
    }

    @Test
    void aRefusedWriteHoldsNothing() {
        NicFlow flow = new NicFlow(new FlowLimits(100, 0, 2, ""));
        flow.takeAnyway(150);
        for (int i = 0; i < 3; i++) {
            assertThat(flow.take(1)).isFalse();
        }
        flow.give(150);
        assertThat(flow.take(50)).isTrue();
        assertThat(flow.take(50)).isTrue();
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
                    if (flow.take(length)) {
                        most.accumulateAndGet(bytes.addAndGet(length), Math::max);
                        own.add(length);
                    }
                    if (!own.isEmpty() && random.nextBoolean()) {
                        bytes.addAndGet(-own.peek());
                        flow.give(own.remove());
                    }
                }
                for (int length : own) {
                    bytes.addAndGet(-length);
                    flow.give(length);
                }
            }));
        }
        threads.forEach(CompletableFuture::join);
        assertThat(most.get()).isPositive().isLessThanOrEqualTo(1000);
        assertThat(flow.bytes()).isZero();
    }
}
