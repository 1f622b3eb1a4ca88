package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.engine.gpu.GpuAgainstHost.Scenario;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A rank whose membership word the others have set fails its operations, although all that it waits for has come. */
@Timeout(300)
final class ExpelledRankTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE = EpShape.builder(128, 4, 2)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    /** Of rank 0. Not by the driver, whose copies wait for kernels that run; addresses of emulated GPUs are those of the host. */
    private static void expel(Rank rank) {
        assertThat(rank.number()).isZero();
        long base = ((GpuBufferFacts) rank.buffer()).symmetricMemory().get(0).address();
        long at = new BufferLayout(SHAPE, rank.group().size()).membership();
        new Pointer(base).setLong(at, 1);
    }

    private static void assertExpelled(ThrowingCallable operation) {
        assertThatThrownBy(operation)
                .isInstanceOfSatisfying(
                        EpPeerLostException.class, e -> assertThat(e.peer()).isZero())
                .hasMessage("the other ranks hold this rank (0) lost and go on without it; close the buffer");
    }

    private static Tensor x(Rank rank) {
        return rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden());
    }

    private static Tensor ids(Rank rank) {
        int[] ids = new int[TOKENS * SHAPE.topK()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = i % SHAPE.experts();
        }
        return rank.ints(ids, TOKENS, SHAPE.topK());
    }

    private static DispatchRequest.Builder dispatch(Rank rank) {
        return DispatchRequest.of(x(rank), ids(rank));
    }

    private static LowLatencyDispatchRequest.Builder lowLatency(Rank rank) {
        return LowLatencyDispatchRequest.of(x(rank), ids(rank))
                .topkWeights(rank.floats(new float[0], TOKENS, SHAPE.topK()));
    }

    /** No block waits for another one, nor the rank for others: what fails is found when all has been read. */
    private static void alone(Scenario scenario) {
        try (GpuAgainstHost one = new GpuAgainstHost(SHAPE, 1, Map.of("ep.gpu.sms", "1"))) {
            one.onGpus(scenario);
        }
    }

    @ParameterizedTest
    @EnumSource
    void highThroughputDispatchFails(RowLayout layout) {
        alone(rank -> {
            rank.buffer().dispatch(dispatch(rank).layout(layout).build());
            expel(rank);
            assertExpelled(
                    () -> rank.buffer().dispatch(dispatch(rank).layout(layout).build()));
        });
    }

    @Test
    void highThroughputDispatchIntoTheCallersMemoryFails() {
        alone(rank -> {
            expel(rank);
            Tensor out = rank.tensor(DataType.BF16, new byte[0], 2L * TOKENS, SHAPE.hidden());
            assertExpelled(() -> rank.buffer().dispatch(dispatch(rank).out(out).build()));
        });
    }

    @ParameterizedTest
    @CsvSource({"BY_RANK, EXACT", "BY_EXPERT, EXACT", "BY_EXPERT, RANK_PARTIAL"})
    void highThroughputCombineFails(RowLayout layout, CombinePrecision precision) {
        alone(rank -> {
            DispatchResult result =
                    rank.buffer().dispatch(dispatch(rank).layout(layout).build());
            expel(rank);
            assertExpelled(() -> rank.buffer()
                    .combine(CombineRequest.of(result.x(), result.handle())
                            .precision(precision)
                            .build()));
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void lowLatencyDispatchFails(boolean hook) {
        alone(rank -> {
            if (hook) {
                var result = rank.buffer().dispatch(lowLatency(rank).hook().build());
                expel(rank);
                assertExpelled(result::receive);
            } else {
                expel(rank);
                assertExpelled(() -> rank.buffer().dispatch(lowLatency(rank).build()));
            }
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void lowLatencyCombineFails(boolean logFmt) {
        alone(rank -> {
            LowLatencyDispatchResult result =
                    rank.buffer().dispatch(lowLatency(rank).build());
            Tensor outputs = rank.tensor(DataType.BF16, new byte[0], 4, SHAPE.lowLatencyRows(1), SHAPE.hidden());
            var combine = LowLatencyCombineRequest.of(outputs, result.handle());
            expel(rank);
            assertExpelled(() -> rank.buffer().combine(logFmt ? combine.logFmt().build() : combine.build()));
        });
    }

    /** What was sent to it before it was held out differs from what it calls, since it calls something after that. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anOperationThatDiffersFromThatOfOthersFailsForTheSameReason(boolean lowLatency) {
        try (GpuAgainstHost ranks = new GpuAgainstHost(SHAPE, 2)) {
            ranks.onGpus(rank -> {
                if (rank.number() == 0) {
                    rank.group().barrier(Duration.ofSeconds(60));
                    expel(rank);
                    assertExpelled(() -> {
                        if (lowLatency) {
                            rank.buffer()
                                    .dispatch(lowLatency(rank)
                                            .format(WireFormat.FP8)
                                            .build());
                        } else {
                            rank.buffer()
                                    .dispatch(dispatch(rank)
                                            .topkWeights(rank.floats(new float[0], TOKENS, SHAPE.topK()))
                                            .build());
                        }
                    });
                    rank.group().barrier(Duration.ofSeconds(60));
                    return;
                }
                var options = OpOptions.DEFAULT.timeout(Duration.ofSeconds(5)).asynchronous();
                if (lowLatency) {
                    rank.buffer().dispatch(lowLatency(rank).options(options).build());
                } else {
                    rank.buffer()
                            .dispatch(
                                    dispatch(rank).worstCase().options(options).build());
                }
                awaitArrival(rank, lowLatency ? Counter.LL_DISPATCH : Counter.HT_ENTER);
                rank.group().barrier(Duration.ofSeconds(60));
                rank.group().barrier(Duration.ofSeconds(60));
            });
        }
    }

    /** At once, not at its deadline. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aWaitForARankThatDoesNotComeEnds(boolean lowLatency) {
        CountDownLatch ended = new CountDownLatch(1);
        try (GpuAgainstHost ranks = new GpuAgainstHost(SHAPE, 2)) {
            ranks.onGpus(rank -> {
                if (rank.number() == 0) {
                    var options =
                            OpOptions.DEFAULT.timeout(Duration.ofSeconds(60)).asynchronous();
                    var event = lowLatency
                            ? rank.buffer()
                                    .dispatch(lowLatency(rank).options(options).build())
                                    .event()
                            : rank.buffer()
                                    .dispatch(dispatch(rank)
                                            .worstCase()
                                            .options(options)
                                            .build())
                                    .event();
                    long start = System.nanoTime();
                    expel(rank);
                    try {
                        assertExpelled(() -> event.await(Duration.ofSeconds(60)));
                    } finally {
                        ended.countDown();
                    }
                    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(30));
                } else {
                    await(ended);
                }
            });
        }
    }

    /** Waits until what rank 1 has begun is known to rank 0. */
    private static void awaitArrival(Rank rank, Counter counter) {
        long base = ((GpuBufferFacts) rank.buffer()).symmetricMemory().get(0).address();
        long at = new BufferLayout(SHAPE, rank.group().size()).counter(counter, 1);
        long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (new Pointer(base).getLong(at) < 1) {
            assertThat(System.nanoTime()).as("until rank 1 has begun").isLessThan(end);
            Thread.onSpinWait();
        }
    }

    private static void await(CountDownLatch ended) {
        try {
            assertThat(ended.await(90, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
