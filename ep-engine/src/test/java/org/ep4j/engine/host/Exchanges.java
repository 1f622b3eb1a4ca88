package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpMismatchException;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.engine.host.ThreadRanks.Rank;
import org.ep4j.engine.sync.Waits;

/** Rounds of two ranks in which every token goes to one expert of either, whose output is its input: the sums are twice the tokens. */
final class Exchanges {
    static final int TOKENS = 6;
    static final int HIDDEN = 64;
    static final int TOPK = 2;
    static final int EXPERTS = 4;
    static final int LOCAL = 2;
    static final EpShape SHAPE = EpShape.builder(HIDDEN, EXPERTS, TOPK)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();
    /** An operation gives up after this. */
    static final Duration TIMEOUT = Duration.ofSeconds(10);

    static final Duration SHORT = Duration.ofSeconds(1);
    /** Every token goes to one expert of either rank. */
    static final int[] IDS = {0, 2, 1, 3, 0, 3, 1, 2, 0, 2, 3, 1};

    static final List<Float> TWICE = List.of(2f, 4f, 6f, 8f, 10f, 12f);

    private Exchanges() {}

    static Tensor x(Rank rank) {
        return rank.rows(TOKENS, t -> 1f + t);
    }

    static Tensor ids(Rank rank) {
        return rank.group().size() == 2
                ? rank.ints(IDS, TOKENS, TOPK)
                : rank.ints(new int[TOKENS * TOPK], TOKENS, TOPK);
    }

    static Tensor weights(Rank rank) {
        float[] ones = new float[TOKENS * TOPK];
        Arrays.fill(ones, 1);
        return rank.floats(ones, TOKENS, TOPK);
    }

    static Tensor expertRows(Rank rank) {
        return rank.tensor(DataType.BF16, LOCAL, 2L * TOKENS, HIDDEN);
    }

    static Tensor copied(Rank rank, Tensor from) {
        Tensor copy = rank.tensor(
                from.type(), from.shape().stream().mapToLong(Long::longValue).toArray());
        rank.view(copy).put(rank.view(from));
        return copy;
    }

    static DispatchResult dispatch(Rank rank) {
        return dispatch(rank, OpOptions.DEFAULT);
    }

    static DispatchResult dispatch(Rank rank, OpOptions options) {
        return rank.buffer()
                .dispatch(
                        DispatchRequest.of(x(rank), ids(rank)).options(options).build());
    }

    /** FP8 gradients along the routes of a dispatch, with scales. */
    static DispatchRequest.Builder gradients(Rank rank, DataType type, DispatchResult of) {
        return DispatchRequest.cached(rank.tensor(type, TOKENS, HIDDEN), of.handle())
                .scales(rank.tensor(DataType.FP32, TOKENS, 1));
    }

    static List<DispatchResult> dispatched(ThreadRanks ranks) {
        DispatchResult[] all = new DispatchResult[ranks.size()];
        ranks.all(rank -> all[rank.number()] = dispatch(rank));
        return List.of(all);
    }

    static Tensor combine(Rank rank, Tensor x, DispatchResult of) {
        CombineResult combined =
                rank.buffer().combine(CombineRequest.of(x, of.handle()).build());
        return combined.out();
    }

    static LowLatencyDispatchResult pack(Rank rank) {
        return rank.buffer()
                .dispatch(LowLatencyDispatchRequest.of(x(rank), ids(rank))
                        .topkWeights(weights(rank))
                        .build());
    }

    static Tensor unpack(Rank rank, Tensor x, LowLatencyDispatchResult of) {
        return rank.buffer()
                .combine(LowLatencyCombineRequest.of(x, of.handle())
                        .topkWeights(weights(rank))
                        .build())
                .out();
    }

    static void idRefused(Rank rank, int id) {
        int[] ids = IDS.clone();
        ids[3] = id;
        Tensor wrong = rank.ints(ids, TOKENS, TOPK);
        List<ThrowingCallable> uses = List.of(
                () -> rank.buffer().dispatch(DispatchRequest.of(x(rank), wrong).build()),
                () -> rank.buffer()
                        .dispatch(LowLatencyDispatchRequest.of(x(rank), wrong).build()),
                () -> rank.buffer().layout(wrong));
        uses.forEach(use -> refused(EpArgumentException.class, "topkIds[1][1] is " + id, use));
    }

    static void refused(Class<? extends EpException> kind, String text, ThrowingCallable use) {
        assertThatThrownBy(use).isInstanceOf(kind).hasMessageContaining(text);
    }

    /** Both ranks are told what differs. */
    static void mismatch(ThreadRanks ranks, String text, ThreadRanks.RankWork work) {
        List<Optional<Throwable>> outcomes = ranks.outcomes(work);
        assertThat(outcomes)
                .allSatisfy(outcome -> assertThat(outcome)
                        .get()
                        .isInstanceOf(EpMismatchException.class)
                        .extracting(Throwable::getMessage)
                        .asString()
                        .contains(text));
    }

    static void recovered(ThreadRanks ranks) {
        ranks.all(rank -> assertThat(rank.buffer().recover(TIMEOUT).masked()).isEmpty());
    }

    /** Does something once this thread waits for another rank. */
    static void whenWaiting(Runnable work) {
        Thread waiting = Thread.currentThread();
        Thread thread = new Thread(() -> {
            while (Arrays.stream(waiting.getStackTrace())
                    .noneMatch(frame -> frame.getClassName().equals(Waits.class.getName()))) {
                Thread.onSpinWait();
            }
            work.run();
        });
        thread.setDaemon(true);
        thread.start();
    }
}
