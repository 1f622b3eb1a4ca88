package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.ep4j.engine.host.Exchanges.HIDDEN;
import static org.ep4j.engine.host.Exchanges.LOCAL;
import static org.ep4j.engine.host.Exchanges.SHAPE;
import static org.ep4j.engine.host.Exchanges.TIMEOUT;
import static org.ep4j.engine.host.Exchanges.TOKENS;
import static org.ep4j.engine.host.Exchanges.ids;
import static org.ep4j.engine.host.Exchanges.weights;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two low-latency operations of a kind are alive at once: each has a bank of its own, for its messages and for its results. */
@Timeout(60)
final class LowLatencyBanksTest {
    @Test
    void twoInFlightDoNotMix() {
        try (ThreadRanks ranks = new ThreadRanks(2, SHAPE, TIMEOUT)) {
            ranks.all(rank -> {
                for (int round = 0; round < 3; round++) {
                    float even = 100 * round;
                    float odd = even + 50;
                    LowLatencyDispatchResult first = sent(rank, even);
                    LowLatencyDispatchResult second = sent(rank, odd);
                    rank.meet();
                    first.receive();
                    second.receive();
                    assertThat(first.x().address())
                            .as("rows of two dispatches")
                            .isNotEqualTo(second.x().address());
                    assertThat(first.counts().address())
                            .isNotEqualTo(second.counts().address());
                    assertThat(received(rank, first)).as("rows of the first").isEqualTo(rows(even));
                    assertThat(received(rank, second)).as("rows of the second").isEqualTo(rows(odd));
                    LowLatencyCombineResult firstSums = returned(rank, first);
                    LowLatencyCombineResult secondSums = returned(rank, second);
                    rank.meet();
                    firstSums.receive();
                    secondSums.receive();
                    assertThat(rank.values(firstSums.out()))
                            .as("sums of the first")
                            .isEqualTo(sums(even));
                    assertThat(rank.values(secondSums.out()))
                            .as("sums of the second")
                            .isEqualTo(sums(odd));
                }
            });
        }
    }

    @Test
    void combineInputTakesTurns() {
        try (ThreadRanks ranks = new ThreadRanks(2, SHAPE, TIMEOUT)) {
            ranks.all(rank -> {
                long before = 0;
                for (int round = 0; round < 4; round++) {
                    LowLatencyDispatchResult sent = sent(rank, round);
                    sent.receive();
                    Tensor input = rank.buffer().lowLatencyCombineInput();
                    assertThat(input.address()).as("memory of round " + round).isNotEqualTo(before);
                    before = input.address();
                    rank.view(input).put(rank.view(sent.x()));
                    assertThat(rank.values(rank.buffer()
                                    .combine(LowLatencyCombineRequest.of(input, sent.handle())
                                            .topkWeights(weights(rank))
                                            .build())
                                    .out()))
                            .isEqualTo(sums(round));
                }
            });
        }
    }

    /** What the first is to send still lies there when the caller writes for the second. */
    @Test
    void combineInputTakesTurnsAlsoWhileACombineIsQueued() {
        try (ThreadRanks ranks = new ThreadRanks(2, SHAPE, TIMEOUT)) {
            ranks.all(rank -> {
                LowLatencyDispatchResult first = sent(rank, 100);
                LowLatencyDispatchResult second = sent(rank, 150);
                first.receive();
                second.receive();
                CompletableFuture<Void> ready = new CompletableFuture<>();
                LowLatencyCombineResult firstSums = queued(rank, first, EpEvent.of(ready));
                LowLatencyCombineResult secondSums = queued(rank, second, EpEvent.completed());
                ready.complete(null);
                assertThat(rank.values(firstSums.out())).as("sums of the first").isEqualTo(sums(100));
                assertThat(rank.values(secondSums.out()))
                        .as("sums of the second")
                        .isEqualTo(sums(150));
            });
        }
    }

    /** Queues a combine of rows as they came, by way of the buffer's memory for its input. */
    private static LowLatencyCombineResult queued(ThreadRanks.Rank rank, LowLatencyDispatchResult of, EpEvent after) {
        Tensor input = rank.buffer().lowLatencyCombineInput();
        rank.view(input).put(rank.view(of.x()));
        return rank.buffer()
                .combine(LowLatencyCombineRequest.of(input, of.handle())
                        .topkWeights(weights(rank))
                        .options(OpOptions.DEFAULT.asynchronous().after(after))
                        .build());
    }

    /** Values that BF16 holds. */
    private static float value(int token, float base) {
        return (base + token) * 4;
    }

    private static List<Float> sums(float base) {
        List<Float> sums = new ArrayList<>();
        for (int t = 0; t < TOKENS; t++) {
            sums.add(2 * rounded(value(t, base)));
        }
        return sums;
    }

    /** Every rank gets every token of both ranks once, in some order. */
    private static List<Float> rows(float base) {
        List<Float> rows = new ArrayList<>();
        for (int t = 0; t < TOKENS; t++) {
            rows.add(rounded(value(t, base)));
            rows.add(rounded(value(t, base)));
        }
        return rows;
    }

    private static float rounded(float value) {
        return Float.intBitsToFloat(ThreadRanks.bf16(value) << 16);
    }

    private static List<Float> received(ThreadRanks.Rank rank, LowLatencyDispatchResult result) {
        List<Float> values = rank.values(result.x());
        var counts = rank.view(result.counts()).asIntBuffer();
        List<Float> received = new ArrayList<>();
        for (int e = 0; e < LOCAL; e++) {
            int first = e * 2 * TOKENS;
            received.addAll(values.subList(first, first + counts.get(e)));
        }
        assertThat(result.x().dim(2)).isEqualTo(HIDDEN);
        return received.stream().sorted().toList();
    }

    private static LowLatencyDispatchResult sent(ThreadRanks.Rank rank, float base) {
        return rank.buffer()
                .dispatch(LowLatencyDispatchRequest.of(rank.rows(TOKENS, t -> value(t, base)), ids(rank))
                        .hook()
                        .build());
    }

    private static LowLatencyCombineResult returned(ThreadRanks.Rank rank, LowLatencyDispatchResult of) {
        return rank.buffer()
                .combine(LowLatencyCombineRequest.of(of.x(), of.handle())
                        .topkWeights(weights(rank))
                        .hook()
                        .build());
    }
}
