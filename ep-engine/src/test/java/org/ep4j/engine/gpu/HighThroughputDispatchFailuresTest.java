package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.NativeLibrary;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpOverflowException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.OpOptions;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** High-throughput dispatches that fail, and what works after them, as on the host. */
@Tag("verify")
final class HighThroughputDispatchFailuresTest {
    private static final EpShape SHAPE =
            EpShape.builder(64, 9, 4).maxTokens(600).build();

    private static Tensor x(Rank rank, int tokens, long seed) {
        byte[] bytes = new byte[2 * SHAPE.hidden() * tokens];
        new Random(seed + rank.number()).nextBytes(bytes);
        return rank.tensor(DataType.BF16, bytes, tokens, SHAPE.hidden());
    }

    private static int[] ids(Rank rank, int tokens, long seed) {
        return new Random(seed + rank.number())
                .ints((long) tokens * SHAPE.topK(), 0, SHAPE.experts())
                .toArray();
    }

    private static DispatchRequest.Builder request(Rank rank, int tokens, long seed) {
        return DispatchRequest.builder(x(rank, tokens, seed), rank.ints(ids(rank, tokens, seed), tokens, SHAPE.topK()));
    }

    private static DispatchResult keepDispatch(Rank rank, String name, DispatchRequest request) {
        DispatchResult result = rank.buffer().dispatch(request);
        rank.keep(name, result, request);
        return result;
    }

    @Test
    void badIdIsReportedBeforeAnythingIsSent() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                int tokens = 600;
                long[] wrong =
                        Arrays.stream(ids(rank, tokens, 1)).asLongStream().toArray();
                wrong[4 * 555 + 1] = -2;
                for (long bad : new long[] {9, -2, -1L << 32, (1L << 32) + 3, Long.MIN_VALUE}) {
                    wrong[4 * 301 + 2] = bad;
                    wrong[4 * 301 + 3] = 100;
                    if (rank.number() == 1) {
                        Tensor list = rank.longs(wrong, tokens, 4);
                        rank.keepFailure(
                                "bad " + bad,
                                () -> rank.buffer()
                                        .dispatch(DispatchRequest.builder(x(rank, tokens, 1), list)
                                                .build()));
                    }
                }
                if (rank.number() == 1) {
                    int[] narrow = ids(rank, tokens, 1);
                    narrow[2399] = 9;
                    Tensor list = rank.ints(narrow, tokens, 4);
                    rank.keepFailure(
                            "bad last",
                            () -> rank.buffer()
                                    .dispatch(DispatchRequest.builder(x(rank, tokens, 1), list)
                                            .build()));
                }
                keepDispatch(rank, "after", request(rank, tokens, 2).build());
            });
        }
    }

    @Test
    void tooManyRowsAreFoundOnAllRanksAndNothingIsSent() {
        EpShape small =
                EpShape.builder(64, 9, 4).maxTokens(600).maxReceivedRows(700).build();
        try (GpuAgainstHost both = new GpuAgainstHost(small, 3)) {
            both.check(rank -> {
                DispatchResult before =
                        keepDispatch(rank, "before", request(rank, 100, 1).build());
                rank.keepFailure(
                        "overflow",
                        () -> rank.buffer().dispatch(request(rank, 500, 2).build()));
                keepDispatch(rank, "after", request(rank, 150, 3).build());
                keepDispatch(
                        rank,
                        "cached",
                        DispatchRequest.builder(x(rank, 100, 4), before.handle())
                                .build());
            });
        }
    }

    @Test
    void outThatIsTooSmallConcernsItsRankAlone() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            for (RowLayout layout : RowLayout.values()) {
                both.check(rank -> {
                    Tensor out = rank.tensor(DataType.BF16, new byte[0], rank.number() == 0 ? 20 : 4800, 64);
                    DispatchRequest request =
                            request(rank, 300, 1).layout(layout).out(out).build();
                    if (rank.number() == 0) {
                        try {
                            rank.buffer().dispatch(request);
                            rank.keep("first", "no failure");
                        } catch (EpOverflowException e) {
                            String text = String.valueOf(e.getMessage());
                            rank.keep("first", text.substring(0, text.indexOf(" rows arrived")));
                        }
                        rank.keepFailure(
                                "worst",
                                () -> rank.buffer()
                                        .dispatch(request(rank, 300, 1)
                                                .layout(layout)
                                                .out(out)
                                                .worstCase()
                                                .build()));
                    } else {
                        keepDispatch(rank, "first", request);
                    }
                    keepDispatch(
                            rank, "second", request(rank, 5, 2).layout(layout).build());
                });
            }
        }
    }

    /** The kernel that unpacks records must not write behind a tensor that is too small. */
    @Test
    void aTensorForSourcesThatIsTooSmallConcernsItsRankAlone() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            for (RowLayout layout : RowLayout.values()) {
                both.check(rank -> {
                    Tensor all = rank.tensor(DataType.INT32, new byte[0], 4800);
                    Tensor ranks = rank.number() == 0 ? all.rows(0, 20) : all;
                    DispatchRequest request = request(rank, 300, 1)
                            .layout(layout)
                            .outSourceRanks(ranks)
                            .build();
                    if (rank.number() == 0) {
                        try {
                            rank.buffer().dispatch(request);
                            rank.keep("first", "no failure");
                        } catch (EpOverflowException e) {
                            String text = String.valueOf(e.getMessage());
                            rank.keep("first", text.substring(0, text.indexOf(" rows arrived")));
                        }
                        rank.keep("behind", all.rows(20, 4780));
                    } else {
                        keepDispatch(rank, "first", request);
                    }
                    keepDispatch(
                            rank, "second", request(rank, 5, 2).layout(layout).build());
                });
            }
        }
    }

    @Test
    void idsNeedNoAlignmentButTheirOwn() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 1)) {
            both.check(rank -> {
                int[] ids = ids(rank, 300, 1);
                int[] shifted = new int[ids.length + 1];
                System.arraycopy(ids, 0, shifted, 1, ids.length);
                long[] wide = Arrays.stream(shifted).asLongStream().toArray();
                Tensor narrowIds = behind(rank.ints(shifted, shifted.length), 4);
                Tensor wideIds = behind(rank.longs(wide, wide.length), 8);
                for (Tensor list : new Tensor[] {narrowIds, wideIds}) {
                    keepDispatch(
                            rank,
                            list.type().toString(),
                            DispatchRequest.builder(x(rank, 300, 1), list).build());
                }
            });
        }
    }

    private static Tensor behind(Tensor tensor, int bytes) {
        DeviceMemory memory = tensor.memory();
        return Tensor.of(memory.slice(bytes, memory.byteSize() - bytes), tensor.type(), 300, 4);
    }

    @Test
    void maskedRanksAreLeftOutAndTheirOldRowsBecomeZeros() {
        EpShape shape = EpShape.builder(256, 9, 4).maxTokens(50).build();
        for (RowLayout layout : RowLayout.values()) {
            try (GpuAgainstHost both = new GpuAgainstHost(shape, 3)) {
                both.check(rank -> {
                    DispatchHandle handle =
                            keepFp8(rank, "before", layout, null, 1).handle();
                    if (rank.number() == 2) {
                        return;
                    }
                    rank.buffer().mask(2);
                    keepFp8(rank, "cached", layout, handle, 2);
                    keepFp8(rank, "new", layout, null, 3);
                    keepFp8(rank, "cached again", layout, handle, 4);
                });
            }
        }
    }

    private static DispatchResult keepFp8(
            Rank rank,
            String name,
            RowLayout layout,
            @org.jspecify.annotations.Nullable DispatchHandle handle,
            long seed) {
        int tokens = 40;
        EpShape shape = rank.buffer().shape();
        Random random = new Random(seed * 10 + rank.number());
        byte[] rows = new byte[tokens * shape.hidden()];
        random.nextBytes(rows);
        byte[] scales = new byte[4 * tokens * shape.scales()];
        random.nextBytes(scales);
        byte[] weights = new byte[4 * tokens * shape.topK()];
        random.nextBytes(weights);
        Tensor x = rank.tensor(DataType.FP8_E4M3, rows, tokens, shape.hidden());
        // One routing for all: the host takes the ids of a silent rank's rows from what was sent there last.
        int[] ids = new Random(rank.number())
                .ints((long) tokens * shape.topK(), -1, shape.experts())
                .toArray();
        DispatchRequest request = (handle == null
                        ? DispatchRequest.builder(x, rank.ints(ids, tokens, shape.topK()))
                                .layout(layout)
                        : DispatchRequest.builder(x, handle))
                .scales(rank.tensor(DataType.FP32, scales, tokens, shape.scales()))
                .topkWeights(rank.tensor(DataType.FP32, weights, tokens, shape.topK()))
                .zeroPadding()
                .build();
        return keepDispatch(rank, name, request);
    }

    @Test
    void operationsAreQueuedOneBehindTheOtherWithoutWaiting() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                OpOptions later = OpOptions.DEFAULT.asynchronous();
                EpBuffer buffer = rank.buffer().withOptions(later);
                DispatchResult first = buffer.dispatch(request(rank, 300, 1).build());
                DispatchRequest again = DispatchRequest.builder(x(rank, 300, 2), first.handle())
                        .worstCase()
                        .build();
                DispatchResult second = buffer.dispatch(again);
                rank.keep("second", second, again);
                rank.keepFailure("first", () -> first.x());
                rank.keep("rows", first.handle().rows());
            });
        }
    }

    /** A caller that waits only for the end of a chain must get a failure at its beginning. */
    @Test
    void operationThatFollowsARefusedOneFailsToo() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 1)) {
            both.check(rank -> {
                OpOptions later = OpOptions.DEFAULT.asynchronous();
                EpBuffer buffer = rank.buffer().withOptions(later);
                DispatchResult failed = buffer.dispatch(x(rank, 1, 1), rank.ints(new int[] {1, 2, 3, 99}, 1, 4));
                if (rank.group().device().id().type().equals("host")) {
                    return;
                }
                var behind =
                        DispatchRequest.builder(x(rank, 1, 1), failed.handle()).build();
                // The cause is thrown by a call that is queued after it was seen, or else by the last event.
                assertThat(failure(() -> {
                            buffer.dispatch(behind);
                            buffer.dispatch(behind).event().await(Guard.minute());
                        }))
                        .isInstanceOfAny(EpArgumentException.class, EpStateException.class);
                rank.buffer().dispatch(request(rank, 10, 1).build());
            });
        }
    }

    /** A caller that only queues operations must not take what a failed one left in memory for its result. */
    @Test
    void nextCallThrowsAFailureThatWasNotAwaited() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 1)) {
            both.check(rank -> {
                if (rank.group().device().id().type().equals("host")) {
                    return;
                }
                OpOptions later = OpOptions.DEFAULT.asynchronous();
                EpBuffer buffer = rank.buffer().withOptions(later);
                DispatchResult refused = buffer.dispatch(x(rank, 1, 1), rank.ints(new int[] {1, 2, 3, 99}, 1, 4));
                Guard.until("the refused dispatch ends", () -> refused.event().isDone());
                assertThat(failure(() -> buffer.dispatch(request(rank, 10, 1).build())))
                        .isInstanceOf(EpArgumentException.class)
                        .hasMessageContaining("topkIds[0][3]");
                // Once is enough; the event still has it.
                rank.buffer().dispatch(request(rank, 10, 1).build());
                assertThat(failure(() -> refused.event().await(Guard.minute())))
                        .isInstanceOf(EpArgumentException.class);
                rank.buffer().dispatch(request(rank, 10, 1).build());
            });
        }
    }

    @Test
    void nextCallThrowsAFailedWaitThatWasNotAwaited() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                if (rank.group().device().id().type().equals("host") || rank.number() == 1) {
                    return;
                }
                Duration deadline = Duration.ofHours(1);
                OpOptions later = OpOptions.DEFAULT.asynchronous().timeout(deadline);
                EpBuffer buffer = rank.buffer().withOptions(later);
                DispatchResult alone = buffer.dispatch(request(rank, 20, 1).build());
                expire(alone, deadline);
                assertThat(failure(() -> buffer.dispatch(request(rank, 20, 2).build())))
                        .isInstanceOf(EpTimeoutException.class);
            });
        }
    }

    @Test
    void handleOfADispatchThatWasLeftOutIsVoid() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                if (rank.group().device().id().type().equals("host")) {
                    return;
                }
                DispatchResult one = rank.buffer().dispatch(request(rank, 20, 1).build());
                DispatchResult two = rank.buffer().dispatch(request(rank, 20, 2).build());
                // Their memory is used again.
                one.handle().close();
                two.handle().close();
                if (rank.number() == 1) {
                    return;
                }
                Duration deadline = Duration.ofHours(1);
                OpOptions later = OpOptions.DEFAULT.asynchronous().timeout(deadline);
                // An upload would wait for the first of them.
                DispatchRequest first = request(rank, 20, 3).build();
                DispatchRequest second = request(rank, 20, 4).build();
                EpBuffer buffer = rank.buffer().withOptions(later);
                DispatchResult alone = buffer.dispatch(first);
                DispatchResult behind = buffer.dispatch(second);
                expire(alone, deadline);
                assertThat(failure(() -> alone.event().await(Guard.minute()))).isInstanceOf(EpTimeoutException.class);
                assertThat(failure(() -> rank.buffer()
                                .dispatch(DispatchRequest.builder(x(rank, 20, 4), behind.handle())
                                        .build())))
                        .isInstanceOf(EpStateException.class)
                        .hasMessageContaining("dispatch again");
            });
        }
    }

    /** Lets time pass on the GPUs until an operation ends at its deadline. */
    private static void expire(DispatchResult operation, Duration deadline) {
        Guard.until("the operation ends at its deadline", () -> {
            EmulatedGpu.pass(deadline.plusSeconds(1));
            return operation.event().isDone();
        });
    }

    @Test
    void operationWithoutRoomOnTheGpuFailsWithThatReason() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 1)) {
            both.check(rank -> {
                DispatchRequest request = request(rank, 600, 1).build();
                if (rank.group().device().id().type().equals("cuda")) {
                    room(1);
                    try {
                        // The host waits longer than the kernel, however slow that is.
                        OpOptions brief = OpOptions.DEFAULT
                                .timeout(Duration.ofMillis(300))
                                .asynchronous();
                        assertThat(failure(() -> rank.buffer()
                                        .withOptions(brief)
                                        .dispatch(request(rank, 600, 1)
                                                .worstCase()
                                                .build())
                                        .event()
                                        .await(Guard.minute())))
                                .isInstanceOf(EpTimeoutException.class)
                                .hasMessageContaining("blocks of the operation found room on the GPU within 300 ms")
                                .hasMessageContaining("lower ep.gpu.sms");
                    } finally {
                        room(0);
                    }
                    rank.buffer().recover(Guard.minute());
                }
                keepDispatch(rank, "after", request);
            });
        }
    }

    @Test
    void operationWithOneMultiprocessorNeedsRoomForOneBlock() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 1)) {
            both.check(rank -> {
                DispatchRequest request = request(rank, 600, 1).build();
                boolean limited = rank.group().device().id().type().equals("cuda");
                if (limited) {
                    room(1);
                }
                try {
                    DispatchResult result = rank.buffer()
                            .withOptions(OpOptions.DEFAULT.multiprocessors(1))
                            .dispatch(request);
                    rank.keep("one block", result, request);
                } finally {
                    if (limited) {
                        room(0);
                    }
                }
            });
        }
    }

    /** So many blocks of a kernel are on an emulated GPU at once; 0: all. */
    private static void room(int blocks) {
        NativeLibrary.getInstance(System.getenv("EP_CUDA_DRIVER"))
                .getFunction("emulatedRoom")
                .invokeVoid(new Object[] {blocks});
    }

    @Test
    void handleOfAFailedDispatchIsVoid() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 1)) {
            both.check(rank -> {
                if (rank.group().device().id().type().equals("host")) {
                    return;
                }
                OpOptions later = OpOptions.DEFAULT.asynchronous();
                EpBuffer buffer = rank.buffer().withOptions(later);
                DispatchResult failed = buffer.dispatch(x(rank, 1, 1), rank.ints(new int[] {1, 2, 3, 99}, 1, 4));
                assertThat(failure(() -> failed.event().await(Guard.minute())))
                        .isInstanceOf(EpArgumentException.class)
                        .hasMessageContaining("topkIds[0][3]");
                assertThat(failure(() -> rank.buffer()
                                .dispatch(DispatchRequest.builder(x(rank, 1, 1), failed.handle())
                                        .build())))
                        .isInstanceOf(EpStateException.class)
                        .hasMessageContaining("dispatch again");
            });
        }
    }

    private static @org.jspecify.annotations.Nullable Throwable failure(Runnable work) {
        try {
            work.run();
            return null;
        } catch (RuntimeException e) {
            return e;
        }
    }
}
