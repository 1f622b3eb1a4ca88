package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.ep4j.CombinePrecision;
import org.ep4j.DataType;
import org.ep4j.EpBuffer;
import org.ep4j.EpEvent;
import org.ep4j.EpMismatchException;
import org.ep4j.EpShape;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Low-latency operations that fail, and what works after them, as on the host. */
@Tag("verify")
final class LowLatencyFailuresTest {
    private static final int TOKENS = 40;
    private static final EpShape SHAPE =
            EpShape.builder(64, 9, 4).maxLowLatencyTokens(TOKENS).build();

    private static Tensor x(Rank rank) {
        byte[] bytes = new byte[2 * SHAPE.hidden() * TOKENS];
        new Random(rank.number()).nextBytes(bytes);
        return rank.tensor(DataType.BF16, bytes, TOKENS, SHAPE.hidden());
    }

    /** Every token names four different experts. */
    private static int[] ids(Rank rank) {
        int[] ids = new int[TOKENS * SHAPE.topK()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = (i / 4 * 5 + 2 * (i % 4) + rank.number()) % SHAPE.experts();
        }
        return ids;
    }

    private static LowLatencyDispatchRequest.Builder request(Rank rank, int[] ids) {
        float[] weights = new float[ids.length];
        Arrays.fill(weights, 0.5f);
        return LowLatencyDispatchRequest.builder(x(rank), rank.ints(ids, TOKENS, SHAPE.topK()))
                .topkWeights(rank.floats(weights, TOKENS, SHAPE.topK()));
    }

    private static Tensor outputs(Rank rank) {
        int experts = rank.buffer().placement().localExperts(rank.number());
        long rows = rank.buffer().maxLowLatencyRows();
        return rank.tensor(DataType.BF16, new byte[0], experts, rows, SHAPE.hidden());
    }

    private static void works(Rank rank, String name) {
        LowLatencyDispatchResult result =
                rank.buffer().lowLatencyDispatch(request(rank, ids(rank)).build());
        rank.keep(name + ".counts", result.rowsPerExpert());
        rank.keep(name + ".ranges", result.layoutRanges());
        Tensor back = rank.buffer()
                .lowLatencyCombine(LowLatencyCombineRequest.builder(outputs(rank), result.handle())
                        .precision(CombinePrecision.RANK_PARTIAL)
                        .build())
                .out();
        rank.keep(name + ".out", List.of(back.dim(0), back.dim(1)));
    }

    @Test
    void badIdIsReportedBeforeAnythingIsSent() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                works(rank, "before");
                if (rank.number() == 1) {
                    long[] wide = Arrays.stream(ids(rank)).asLongStream().toArray();
                    wide[4 * 35] = -2;
                    for (long bad : new long[] {9, -2, -1L << 32, (1L << 32) + 3, Long.MIN_VALUE}) {
                        wide[4 * 31 + 2] = bad;
                        Tensor list = rank.longs(wide, TOKENS, 4);
                        for (boolean hook : new boolean[] {false, true}) {
                            var request = LowLatencyDispatchRequest.builder(x(rank), list);
                            rank.keepFailure(
                                    "bad " + bad + hook,
                                    () -> rank.buffer()
                                            .lowLatencyDispatch(
                                                    hook ? request.receiveHook().build() : request.build()));
                        }
                    }
                }
                works(rank, "after");
            });
        }
    }

    @Test
    void aQueuedReceiveFailsAsItsSendDid() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                works(rank, "before");
                if (rank.number() == 1) {
                    int[] bad = ids(rank);
                    bad[17] = SHAPE.experts();
                    EpBuffer later = rank.buffer().withOptions(OpOptions.DEFAULT.asynchronous());
                    LowLatencyDispatchRequest request =
                            request(rank, bad).receiveHook().build();
                    for (int i = 0; i < 3; i++) {
                        LowLatencyDispatchResult sent = later.lowLatencyDispatch(request);
                        sent.receive();
                        rank.keepFailure("bad " + i, () -> sent.event().await(Guard.minute()));
                    }
                }
                works(rank, "after");
            });
        }
    }

    /** The other rank sends nothing. */
    @Test
    void aReceivingHalfBehindOneThatFailsIsVoid() {
        EmulatedGpu.require();
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.onGpu(rank -> {
                if (rank.number() == 0) {
                    EpBuffer later = rank.buffer()
                            .withOptions(
                                    OpOptions.DEFAULT.timeout(Guard.minute()).asynchronous());
                    LowLatencyDispatchRequest request =
                            request(rank, ids(rank)).receiveHook().build();
                    LowLatencyDispatchResult one = later.lowLatencyDispatch(request);
                    LowLatencyDispatchResult two = later.lowLatencyDispatch(request);
                    two.receive();
                    one.receive();
                    Guard.until("both end at the deadline", () -> {
                        EmulatedGpu.pass(Guard.minute().plusSeconds(1));
                        return one.event().isDone();
                    });
                    for (LowLatencyDispatchResult failed : List.of(one, two)) {
                        assertThatThrownBy(() -> failed.event().await(Guard.minute()))
                                .isInstanceOf(EpTimeoutException.class);
                    }
                }
                rank.group().barrier(Guard.minute());
                Recovery recovery = rank.buffer().recover(Guard.minute());
                assertThat(recovery.completed(0))
                        .as("dispatches that were sent")
                        .isEqualTo(2);
                assertThat(recovery.completed(1)).isZero();
            });
        }
    }

    @Test
    void expertNamedTooOftenIsReportedBeforeAnythingIsSent() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 3)) {
            both.check(rank -> {
                if (rank.number() == 1) {
                    int[] many = ids(rank);
                    Arrays.fill(many, 8, 8 + 41, 7);
                    Arrays.fill(many, 60, 60 + 41, 2);
                    rank.keepFailure(
                            "duplicates",
                            () -> rank.buffer()
                                    .lowLatencyDispatch(request(rank, many).build()));
                }
                int[] most = ids(rank);
                Arrays.fill(most, -1);
                Arrays.fill(most, 8, 8 + 40, 7);
                rank.keep(
                        "most",
                        rank.buffer()
                                .lowLatencyDispatch(request(rank, most).build())
                                .rowsPerExpert());
                works(rank, "after");
            });
        }
    }

    @Test
    void hookIsReceivedOnceAndBeforeItsMemoryIsNeeded() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                var hook = request(rank, ids(rank)).receiveHook().build();
                LowLatencyDispatchResult one = rank.buffer().lowLatencyDispatch(hook);
                rank.keepFailure("not received", () -> one.x().address());
                rank.keepFailure(
                        "combine",
                        () -> rank.buffer()
                                .lowLatencyCombine(LowLatencyCombineRequest.builder(outputs(rank), one.handle())
                                        .build()));
                LowLatencyDispatchResult two = rank.buffer().lowLatencyDispatch(hook);
                rank.keepFailure("no room", () -> rank.buffer().lowLatencyDispatch(hook));
                one.receive();
                rank.keepFailure("again", one::receive);
                rank.keep("first", one.rowsPerExpert());
                LowLatencyDispatchResult three = rank.buffer().lowLatencyDispatch(hook);
                rank.keepFailure("stale", () -> one.rowsPerExpert().address());
                two.receive();
                three.receive();
                rank.keep("second", two.rowsPerExpert());
                rank.keep("third", three.rowsPerExpert());
                LowLatencyDispatchResult plain = rank.buffer()
                        .lowLatencyDispatch(request(rank, ids(rank)).build());
                rank.keepFailure("no hook", plain::receive);
                works(rank, "after");
            });
        }
    }

    /** One rank begins long before the other, and gives three dispatches up, the last one while it waits for credit. */
    @Test
    void abandonedOperationsDoNotDelayLaterOnes() {
        CyclicBarrier meeting = new CyclicBarrier(2);
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                for (int turn = 0; turn < 2; turn++) {
                    for (int i = 0; i < 3 && turn == rank.number(); i++) {
                        if (turn == 1 && i < 2) {
                            // Of these the other rank has sent its share before it gave up.
                            rank.buffer()
                                    .lowLatencyDispatch(request(rank, ids(rank)).build());
                        } else {
                            giveUp(rank);
                        }
                    }
                    meet(meeting);
                }
                for (int i = 0; i < 6; i++) {
                    works(rank, "after " + i);
                }
            });
        }
    }

    /** Runs a dispatch that the other rank does not join, until the time of its wait is over. */
    private static void giveUp(Rank rank) {
        LowLatencyDispatchRequest.Builder request = request(rank, ids(rank));
        if (!rank.group().device().id().type().equals(EmulatedGpu.TYPE)) {
            OpOptions brief = OpOptions.DEFAULT.timeout(Duration.ofMillis(100));
            assertThatThrownBy(() -> rank.buffer().withOptions(brief).lowLatencyDispatch(request.build()))
                    .isInstanceOf(EpTimeoutException.class);
            return;
        }
        // The kernels' time alone passes: the host would otherwise give up before slow kernels do.
        OpOptions later = OpOptions.DEFAULT.timeout(Guard.minute()).asynchronous();
        EpEvent event = rank.buffer()
                .withOptions(later)
                .lowLatencyDispatch(request.build())
                .event();
        Guard.until("the dispatch ends at its deadline", () -> {
            EmulatedGpu.pass(Guard.minute().plusSeconds(1));
            return event.isDone();
        });
        assertThatThrownBy(() -> event.await(Guard.minute())).isInstanceOf(EpTimeoutException.class);
    }

    private static void meet(CyclicBarrier meeting) {
        try {
            meeting.await(Guard.minute().toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void maskedRanksReceiveAndSendNothing() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 3)) {
            both.check(rank -> {
                works(rank, "before");
                rank.group().barrier(Guard.minute());
                if (rank.number() != 2) {
                    rank.buffer().mask(2);
                    works(rank, "masked");
                    works(rank, "masked again");
                    works(rank, "masked for the third time");
                }
            });
        }
    }

    /** The buffer has moved away from it, so there is nowhere to send its rows. */
    @Test
    void aRankMaskedAfterADispatchReceivesAndSendsNothingInItsCombine() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 3)) {
            both.check(rank -> {
                LowLatencyDispatchResult result = rank.buffer()
                        .lowLatencyDispatch(request(rank, ids(rank)).build());
                rank.group().barrier(Guard.minute());
                if (rank.number() != 2) {
                    rank.buffer().mask(2);
                    for (CombinePrecision precision : CombinePrecision.values()) {
                        Tensor outputs = outputs(rank);
                        byte[] values = new byte[(int) outputs.byteSize()];
                        Arrays.fill(values, (byte) (0x3c + rank.number()));
                        Tensor back = rank.buffer()
                                .lowLatencyCombine(
                                        LowLatencyCombineRequest.builder(rank.fill(outputs, values), result.handle())
                                                .precision(precision)
                                                .build())
                                .out();
                        rank.keep("out of " + precision, back);
                    }
                    works(rank, "after");
                }
            });
        }
    }

    @Test
    void refusesACombineOfDifferentDispatches() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                LowLatencyDispatchResult first = rank.buffer()
                        .lowLatencyDispatch(request(rank, ids(rank)).build());
                LowLatencyDispatchResult second = rank.buffer()
                        .lowLatencyDispatch(request(rank, ids(rank)).build());
                var combine = LowLatencyCombineRequest.builder(
                                outputs(rank), rank.number() == 0 ? first.handle() : second.handle())
                        .build();
                assertThatThrownBy(() -> rank.buffer().lowLatencyCombine(combine))
                        .isInstanceOf(EpMismatchException.class)
                        .hasMessageContainingAll("of dispatch 1", "of dispatch 2");
            });
        }
    }
}
