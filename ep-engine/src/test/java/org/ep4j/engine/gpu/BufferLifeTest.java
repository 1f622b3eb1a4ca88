package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.ep4j.Bootstrap;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.engine.membership.BufferMembership;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What outlives an operation: its handle in a recorded graph, its failure, its event after the buffer. */
@Tag("verify")
final class BufferLifeTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE =
            EpShape.builder(64, 4, 2).maxTokens(TOKENS).build();

    private static DispatchRequest.Builder request(Rank rank, int firstId) {
        int[] ids = new int[TOKENS * SHAPE.topK()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = i % SHAPE.experts();
        }
        ids[0] = firstId;
        return DispatchRequest.builder(
                rank.tensor(DataType.BF16, new byte[0], TOKENS, SHAPE.hidden()), rank.ints(ids, TOKENS, SHAPE.topK()));
    }

    @Test
    void completedOperationsAreCountedAsOnTheHost() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                rank.buffer().dispatch(request(rank, 0).build());
                if (rank.number() == 1) {
                    rank.keepFailure(
                            "bad", () -> rank.buffer().dispatch(request(rank, 4).build()));
                }
                rank.buffer().dispatch(request(rank, 1).build());
                rank.buffer().dispatch(request(rank, 2).build());
                rank.keep("first", rank.buffer().recover(Guard.minute()));
                rank.buffer().dispatch(request(rank, 1).build());
                rank.keep("second", rank.buffer().recover(Guard.minute()));
            });
        }
    }

    @Test
    void closingEndsARecovery() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                if (rank.number() == 0) {
                    FutureTask<Recovery> recovery =
                            new FutureTask<>(() -> rank.buffer().recover(Duration.ofDays(1)));
                    Thread thread = new Thread(recovery, "recovery");
                    thread.setDaemon(true);
                    thread.start();
                    Guard.until("the recovery waits for the other rank", () -> isWaiting(thread));
                    // Waits neither for the recovery nor for ep.timeout.
                    assertThat(CompletableFuture.runAsync(rank.buffer()::close)).succeedsWithin(Guard.minute());
                    rank.keepFailure("recovery", () -> join(recovery));
                }
                rank.group().barrier(Guard.minute());
            });
        }
    }

    /** True when it agrees with the other ranks on who goes on. */
    private static boolean isWaiting(Thread thread) {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(BufferMembership.class.getName()));
    }

    private static void join(FutureTask<?> task) {
        try {
            task.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof EpException cause) {
                throw cause;
            }
            throw new AssertionError(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void operationEndedByCloseFailsWithThatReason() {
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, 2)) {
            both.check(rank -> {
                if (rank.number() == 0) {
                    DispatchResult lonely = rank.buffer()
                            .withOptions(OpOptions.DEFAULT.asynchronous())
                            .dispatch(request(rank, 0).worstCase().build());
                    assertThatThrownBy(() -> lonely.event().await(Duration.ofMillis(200)))
                            .isInstanceOf(EpTimeoutException.class);
                    rank.buffer().close();
                    assertThatThrownBy(() -> lonely.event().await(Guard.minute()))
                            .isInstanceOf(EpStateException.class)
                            .hasMessageContaining("closed");
                }
                rank.group().barrier(Guard.minute());
            });
        }
    }

    /** One rank on an emulated GPU, or several on the same one. */
    private static List<EpGroup> onOneGpu(int ranks) {
        EmulatedGpu.require();
        List<Bootstrap> bootstraps = Bootstrap.inProcess(ranks);
        List<CompletableFuture<EpGroup>> groups = bootstraps.stream()
                .map(b -> CompletableFuture.supplyAsync(() -> EpGroup.join(
                        b,
                        EpConfig.builder(Map.of(), Map.of())
                                .set("ep.device", EmulatedGpu.TYPE + ":0")
                                .build())))
                .toList();
        return groups.stream().map(CompletableFuture::join).toList();
    }

    private static DispatchRequest zeros(EngineGpu device) {
        var x = device.allocate(2L * TOKENS * SHAPE.hidden());
        var ids = device.allocate(4L * TOKENS * SHAPE.topK());
        return DispatchRequest.builder(
                        Tensor.of(x.memory(), DataType.BF16, TOKENS, SHAPE.hidden()),
                        Tensor.of(ids.memory(), DataType.INT32, TOKENS, SHAPE.topK()))
                .worstCase()
                .build();
    }

    private static OpOptions later(long stream) {
        return OpOptions.DEFAULT.asynchronous().onStream(stream);
    }

    private static long memory(DispatchResult result) {
        return ((HighThroughput.Handle) result.handle()).routing().address();
    }

    @Test
    void memoryOfAHandleThatAGraphRecordedIsNotUsedAgain() {
        try (EpGroup group = onOneGpu(1).get(0)) {
            EngineGpu device = (EngineGpu) group.device();
            try (GpuStream stream = device.createStream();
                    EpBuffer buffer = group.createBuffer(SHAPE).withOptions(later(stream.handle()))) {
                DispatchRequest request = zeros(device);
                DispatchResult before = buffer.dispatch(request);
                long[] recorded = new long[1];
                GpuGraph graph = stream.capture(() -> {
                    DispatchResult result = buffer.dispatch(request);
                    recorded[0] = memory(result);
                    result.handle().close();
                });
                graph.launch(stream);
                before.handle().close();
                DispatchResult after = buffer.dispatch(request);
                assertThat(memory(after)).as("closed outside of a graph").isEqualTo(memory(before));
                assertThat(memory(buffer.dispatch(request))).isNotEqualTo(recorded[0]);
                graph.launch(stream);
                stream.synchronize(Guard.minute());
                graph.close();
                DispatchResult last = buffer.dispatch(request);
                last.event().await(Guard.minute());
                assertThat(last.handle().rows()).isEqualTo(TOKENS);
            }
        }
    }

    @Test
    void theFirstOperationOfABufferMayBeRecorded() {
        try (EpGroup group = onOneGpu(1).get(0)) {
            EngineGpu device = (EngineGpu) group.device();
            try (GpuStream stream = device.createStream();
                    EpBuffer buffer = group.createBuffer(SHAPE).withOptions(later(stream.handle()))) {
                DispatchRequest request = zeros(device);
                DispatchResult[] recorded = new DispatchResult[1];
                try (GpuGraph graph = stream.capture(() -> recorded[0] = buffer.dispatch(request))) {
                    graph.launch(stream);
                    graph.launch(stream);
                    stream.synchronize(Guard.minute());
                    assertThat(recorded[0].sourceTokens().dim(0)).isEqualTo(TOKENS);
                }
            }
        }
    }

    @Test
    void ranksOnOneGpuLeaveNothingOnAStreamThatTheyShare() {
        List<EpGroup> groups = onOneGpu(2);
        List<CompletableFuture<Void>> done = groups.stream()
                .map(group -> CompletableFuture.runAsync(() -> {
                    EpBuffer buffer = group.createBuffer(SHAPE);
                    EngineGpu device = (EngineGpu) group.device();
                    for (long stream : new long[] {0, 1}) {
                        assertThatThrownBy(
                                        () -> buffer.withOptions(later(stream)).dispatch(zeros(device)))
                                .isInstanceOf(EpStateException.class)
                                .hasMessageContaining("is shared by all ranks of this process on ")
                                .hasMessageContaining(EmulatedGpu.TYPE + ":0");
                    }
                    for (long stream : new long[] {0, 1}) {
                        DispatchResult waited = buffer.withOptions(OpOptions.DEFAULT.onStream(stream))
                                .dispatch(
                                        zeros(device).x(),
                                        zeros(device).topkIds().orElseThrow());
                        assertThat(waited.handle().rows()).isEqualTo(group.rank() == 0 ? 2L * TOKENS : 0);
                    }
                    try (GpuStream own = device.createStream()) {
                        DispatchResult result =
                                buffer.withOptions(later(own.handle())).dispatch(zeros(device));
                        result.event().await(Guard.minute());
                        assertThat(result.handle().rows()).isEqualTo(group.rank() == 0 ? 2L * TOKENS : 0);
                    }
                    group.barrier(Guard.minute());
                }))
                .toList();
        done.forEach(CompletableFuture::join);
        groups.forEach(EpGroup::close);
    }
}
