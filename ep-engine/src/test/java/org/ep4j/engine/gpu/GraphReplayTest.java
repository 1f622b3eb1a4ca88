package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.ep4j.Bootstrap;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpEvent;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.Tensor;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuStream;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Replays of recorded operations are operations of their buffers: they fail as those do, and are waited for as those are. */
@Tag("verify")
final class GraphReplayTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE =
            EpShape.builder(64, 4, 2).maxTokens(TOKENS).build();
    private static final Duration LONG = Guard.minute();

    /** Of an operation: only {@link Rank#expire} gets there. */
    private static final Duration DEADLINE = Duration.ofHours(1);

    /** A rank on an emulated GPU of its own. */
    private static final class Rank {
        private final EpGroup group;
        private final OpOptions options;
        private final EpBuffer buffer;
        private final EngineGpu device;
        private final GpuStream stream;
        private final Tensor ids;
        private final DispatchRequest request;

        private Rank(Bootstrap bootstrap, int number) {
            group = EpGroup.join(
                    bootstrap,
                    EpConfig.builder(Map.of(), Map.of())
                            .set("ep.device", EmulatedGpu.TYPE + ":" + number)
                            .build());
            device = (EngineGpu) group.device();
            stream = device.createStream();
            options = OpOptions.DEFAULT.asynchronous().onStream(stream.handle()).timeout(DEADLINE);
            buffer = group.createBuffer(SHAPE).withOptions(options);
            ids = tensor(DataType.INT32, TOKENS, SHAPE.topK());
            nameExperts(0);
            request = request();
        }

        private Tensor tensor(DataType type, long... dims) {
            return device.arena().tensor(type, dims);
        }

        private DispatchRequest request() {
            return DispatchRequest.builder(tensor(DataType.BF16, TOKENS, SHAPE.hidden()), ids)
                    .worstCase()
                    .build();
        }

        /** Makes the first token name {@code first}. */
        private void nameExperts(int first) {
            ByteBuffer values = ByteBuffer.allocate(4 * TOKENS * SHAPE.topK()).order(ByteOrder.nativeOrder());
            for (int i = 0; i < TOKENS * SHAPE.topK(); i++) {
                values.putInt(i == 0 ? first : i % SHAPE.experts());
            }
            device.upload(values.flip(), ids.memory());
        }

        private GpuGraph record(int dispatches) {
            return stream.capture(() -> {
                for (int i = 0; i < dispatches; i++) {
                    buffer.dispatch(request).handle().close();
                }
            });
        }

        private EpEvent replay(GpuGraph graph) {
            graph.launch(stream);
            return graph.lastLaunch();
        }

        /** Lets time pass until the replay ends at the deadline of what it waits for. No other kernel waits meanwhile. */
        private void expire(EpEvent replay) {
            Guard.until("the replay ends at its deadline", () -> {
                // Its kernels may begin after this.
                EmulatedGpu.pass(DEADLINE.plusSeconds(1));
                return replay.isDone();
            });
        }

        private void meet() {
            group.barrier(LONG);
        }

        /** The graph before is one of memory that the buffer has left. */
        private void replayAgain() {
            try (GpuGraph again = record(1)) {
                replay(again).await(LONG);
            }
        }

        private void leave() {
            stream.close();
            group.close();
        }
    }

    private static void onRanks(int ranks, Consumer<Rank> work) {
        EmulatedGpu.require();
        List<Bootstrap> bootstraps = Bootstrap.inProcess(ranks);
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int r = 0; r < ranks; r++) {
            int number = r;
            CompletableFuture<Void> one = new CompletableFuture<>();
            all.add(one);
            Thread thread = new Thread(
                    () -> {
                        try {
                            Rank rank = new Rank(bootstraps.get(number), number);
                            work.accept(rank);
                            rank.leave();
                            one.complete(null);
                        } catch (RuntimeException | Error e) {
                            one.completeExceptionally(e);
                        }
                    },
                    "rank " + r);
            thread.setDaemon(true);
            thread.start();
        }
        all.forEach(CompletableFuture::join);
    }

    @Test
    void aReplayWithoutItsPeerTimesOutAsADirectOperationDoes() {
        onRanks(2, rank -> {
            try (GpuGraph graph = rank.record(2)) {
                rank.replay(graph).await(LONG);
                DispatchResult before = rank.buffer.dispatch(rank.request);
                EpEvent good = rank.replay(graph);
                good.await(LONG);
                rank.meet();
                if (rank.group.rank() == 0) {
                    EpEvent alone = rank.replay(graph);
                    EpEvent behind = rank.replay(graph);
                    rank.expire(behind);
                    for (EpEvent event : List.of(alone, behind)) {
                        assertThatThrownBy(() -> event.await(LONG))
                                .isInstanceOf(EpTimeoutException.class)
                                .hasMessageContaining("rank 1")
                                .hasMessageContaining("begin");
                    }
                }
                before.event().await(LONG);
                good.await(LONG);
                rank.meet();
                // Two replays of two operations, and one operation that is not recorded.
                assertThat(rank.buffer.recover(LONG)).isEqualTo(Recovery.of(Set.of(), Map.of(0, 5L, 1, 5L)));
                rank.replayAgain();
                rank.buffer.dispatch(rank.request).event().await(LONG);
            }
        });
    }

    @Test
    void aRecoveryWaitsForReplays() {
        onRanks(2, rank -> {
            try (GpuGraph graph = rank.record(1)) {
                rank.replay(graph).await(LONG);
                rank.meet();
                if (rank.group.rank() == 0) {
                    EpEvent alone = rank.replay(graph);
                    CompletableFuture<Boolean> wasDone = CompletableFuture.supplyAsync(() -> {
                        rank.buffer.recover(LONG);
                        return alone.isDone();
                    });
                    assertThatThrownBy(() -> wasDone.get(200, TimeUnit.MILLISECONDS))
                            .isInstanceOf(TimeoutException.class);
                    assertThat(alone.isDone()).isFalse();
                    rank.expire(alone);
                    rank.meet();
                    assertThat(wasDone.join()).isTrue();
                    assertThatThrownBy(() -> alone.await(LONG)).isInstanceOf(EpTimeoutException.class);
                } else {
                    // Once this rank recovers, the replay of the other one ends.
                    rank.meet();
                    rank.buffer.recover(LONG);
                }
                rank.replayAgain();
            }
        });
    }

    @Test
    void aMaskIsRefusedWhileAReplayDoesNotEnd() {
        onRanks(2, rank -> {
            try (GpuGraph graph = rank.record(1)) {
                if (rank.group.rank() == 0) {
                    EpEvent alone = rank.replay(graph);
                    assertThatThrownBy(() -> rank.buffer.recover(Duration.ofMillis(1)))
                            .isInstanceOf(EpTimeoutException.class)
                            .hasMessageContaining("event not done");
                    rank.expire(alone);
                    assertThatThrownBy(() -> alone.await(LONG)).isInstanceOf(EpTimeoutException.class);
                }
                rank.meet();
                rank.buffer.recover(LONG);
                rank.replayAgain();
            }
        });
    }

    @Test
    void refusesGraphOfMemoryThatTheBufferHasLeft() {
        onRanks(2, rank -> {
            try (GpuGraph graph = rank.record(1)) {
                rank.replay(graph).await(LONG);
                rank.buffer.recover(LONG);
                assertThatThrownBy(() -> rank.replay(graph))
                        .isInstanceOf(EpStateException.class)
                        .hasMessageContaining("record the graph again");
            }
            rank.replayAgain();
        });
    }

    @Test
    void keepsRowsOfADispatchUntilTheBufferHasMovedTwice() {
        onRanks(2, rank -> {
            DispatchResult result = rank.buffer.dispatch(rank.request);
            result.event().await(LONG);
            Tensor rows = result.x();
            rank.buffer.recover(LONG);
            assertThat(result.x()).isEqualTo(rows);
            rank.buffer.recover(LONG);
            assertThatThrownBy(result::x).isInstanceOf(EpStateException.class).hasMessageContaining("recovered twice");
        });
    }

    @Test
    void anEventOfABufferThatMovesCanBeAwaitedAfterItsClose() {
        onRanks(2, rank -> {
            DispatchResult result = rank.buffer.dispatch(rank.request);
            result.event().await(LONG);
            rank.meet();
            rank.buffer.close();
            result.event().await(LONG);
        });
    }

    @Test
    void aReplayReportsItsRefusedOperation() {
        onRanks(1, rank -> {
            try (GpuGraph graph = rank.record(2)) {
                rank.replay(graph).await(LONG);
                rank.nameExperts(7);
                EpEvent refused = rank.replay(graph);
                assertThatThrownBy(() -> refused.await(LONG))
                        .isInstanceOf(EpArgumentException.class)
                        .hasMessageContaining("topkIds[0][0]");
                rank.nameExperts(1);
                rank.replay(graph).await(LONG);
                assertThatThrownBy(() -> refused.await(LONG)).isInstanceOf(EpArgumentException.class);
            }
        });
    }

    @Test
    void aGraphOfTwoBuffersReportsTheFailuresOfBoth() {
        onRanks(1, rank -> {
            EpBuffer other = rank.group.createBuffer(SHAPE).withOptions(rank.options);
            try (GpuGraph graph = rank.stream.capture(() -> {
                rank.buffer.dispatch(rank.request);
                other.dispatch(rank.request);
            })) {
                rank.replay(graph).await(LONG);
                other.close();
                assertThatThrownBy(() -> rank.replay(graph))
                        .isInstanceOf(EpStateException.class)
                        .hasMessageContaining("closed");
                rank.buffer.dispatch(rank.request).event().await(LONG);
            }
        });
    }

    @Test
    void handlesAreReleasedWhenTheGraphIsClosed() {
        onRanks(1, rank -> {
            Set<Long> recorded = new HashSet<>();
            GpuGraph graph = rank.stream.capture(() -> {
                DispatchResult result = rank.buffer.dispatch(rank.request);
                recorded.add(memory(result));
                result.handle().close();
            });
            assertThat(memoryOfMany(rank)).doesNotContainAnyElementsOf(recorded);
            graph.close();
            assertThat(memoryOfMany(rank)).containsAll(recorded);
            assertThatThrownBy(() -> rank.replay(graph))
                    .isInstanceOf(EpStateException.class)
                    .hasMessageContaining("closed");
        });
    }

    /** As many handles as are allocated at once. */
    private static Set<Long> memoryOfMany(Rank rank) {
        List<DispatchResult> results = new ArrayList<>();
        Set<Long> addresses = new HashSet<>();
        for (int i = 0; i < 32; i++) {
            results.add(rank.buffer.dispatch(rank.request));
            addresses.add(memory(results.get(i)));
        }
        results.forEach(result -> result.handle().close());
        return addresses;
    }

    private static long memory(DispatchResult result) {
        return ((HighThroughput.Handle) result.handle()).routing().address();
    }

    @Test
    void aGraphWithOperationsCannotBeRecordedIntoAnother() {
        onRanks(1, rank -> {
            try (GpuGraph graph = rank.record(1)) {
                assertThatThrownBy(() -> rank.stream.capture(() -> rank.replay(graph)))
                        .isInstanceOf(EpStateException.class)
                        .hasMessageContaining("call these operations during the capture");
                rank.replay(graph).await(LONG);
            }
        });
    }
}
