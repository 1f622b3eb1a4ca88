package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpEvent;
import org.ep4j.EpGroup;
import org.ep4j.EpMismatchException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Buffers of two ranks that are threads. */
@Tag("verify")
final class HostBufferTest {
    private static final int TOKENS = 6;
    private static final EpShape SHAPE = EpShape.builder(64, 4, 2)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    private static final class Rank {
        private final EpGroup group;
        private final EpBuffer buffer;
        private final TensorArena arena;
        private final Tensor x;
        private final Tensor ids;

        Rank(EpGroup group) {
            this.group = group;
            arena = group.device().arena();
            buffer = group.createBuffer(SHAPE);
            x = arena.tensor(DataType.BF16, TOKENS, SHAPE.hidden());
            int[] experts = IntStream.range(0, TOKENS * SHAPE.topK())
                    .map(i -> i % SHAPE.experts())
                    .toArray();
            ids = arena.int32(experts, TOKENS, SHAPE.topK());
        }

        DispatchResult dispatch() {
            return buffer.dispatch(x, ids);
        }

        LowLatencyDispatchResult send(Duration longest) {
            return buffer.withOptions(OpOptions.DEFAULT.timeout(longest))
                    .lowLatencyDispatch(LowLatencyDispatchRequest.builder(x, ids)
                            .receiveHook()
                            .build());
        }
    }

    private static void onBothRanks(Consumer<Rank> work) throws Exception {
        EpConfig config =
                EpConfig.builder(Map.of(), Map.of()).set("ep.device", "host:0").build();
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            List<CompletableFuture<Void>> both = Bootstrap.inProcess(2).stream()
                    .map(bootstrap -> CompletableFuture.runAsync(() -> run(bootstrap, config, work), threads))
                    .toList();
            List<Throwable> failures = new ArrayList<>();
            for (CompletableFuture<Void> one : both) {
                try {
                    one.get(Guard.minute().toSeconds(), TimeUnit.SECONDS);
                } catch (ExecutionException e) {
                    failures.add(e.getCause());
                }
            }
            // All of them: one rank may only have waited for the other.
            assertThat(failures).isEmpty();
        } finally {
            threads.shutdownNow();
        }
    }

    private static void run(Bootstrap bootstrap, EpConfig config, Consumer<Rank> work) {
        try (EpGroup group = EpGroup.join(bootstrap, config)) {
            Rank rank = new Rank(group);
            try {
                work.accept(rank);
            } finally {
                rank.arena.close();
            }
        }
    }

    @Test
    void keepsRowsOfADispatchUntilTheBufferHasMovedTwice() throws Exception {
        onBothRanks(rank -> {
            DispatchResult result = rank.dispatch();
            Tensor rows = result.x();
            rank.buffer.recover(Guard.minute());
            assertThat(result.x()).isEqualTo(rows);
            rank.buffer.recover(Guard.minute());
            assertThatThrownBy(result::x).isInstanceOf(EpStateException.class).hasMessageContaining("recovered twice");
        });
    }

    private static List<byte[]> bytes(Rank rank, List<Tensor> tensors) {
        return tensors.stream()
                .map(tensor -> {
                    ByteBuffer copy = ByteBuffer.allocate((int) tensor.byteSize());
                    rank.group.device().download(tensor.memory(), copy);
                    return copy.array();
                })
                .toList();
    }

    private static List<Tensor> besides(DispatchResult result) {
        List<Tensor> all = new ArrayList<>(List.of(
                result.sourceRanks(),
                result.sourceTokens(),
                result.rowsPerSource(),
                result.rowsPerExpert(),
                result.expertOffsets(),
                result.topkWeights().orElseThrow()));
        result.topkIds().ifPresent(all::add);
        return all;
    }

    @Test
    void tensorsOfTheCallerHoldWhatThoseOfTheBufferDo() throws Exception {
        onBothRanks(rank -> {
            Tensor weights = rank.arena.tensor(DataType.FP32, TOKENS, SHAPE.topK());
            ByteBuffer values = ByteBuffer.allocate((int) weights.byteSize()).order(ByteOrder.nativeOrder());
            while (values.hasRemaining()) {
                values.putFloat(1 + values.position() + rank.group.rank());
            }
            rank.group.device().upload(values.flip(), weights.memory());
            for (RowLayout layout : RowLayout.values()) {
                DispatchRequest.Builder request =
                        DispatchRequest.builder(rank.x, rank.ids).layout(layout).topkWeights(weights);
                List<byte[]> expected = bytes(rank, besides(rank.buffer.dispatch(request.build())));
                long rows = rank.buffer.maxRows(layout, 1);
                int experts = rank.buffer.placement().localExperts(rank.group.rank());
                request.outSourceRanks(rank.arena.tensor(DataType.INT32, rows))
                        .outSourceTokens(rank.arena.tensor(DataType.INT32, rows))
                        .outRowsPerSource(rank.arena.tensor(DataType.INT32, 2))
                        .outRowsPerExpert(rank.arena.tensor(DataType.INT32, experts))
                        .outExpertOffsets(rank.arena.tensor(DataType.INT64, experts + 1L));
                if (layout == RowLayout.BY_RANK) {
                    request.outTopkIds(rank.arena.tensor(DataType.INT32, rows, SHAPE.topK()))
                            .outTopkWeights(rank.arena.tensor(DataType.FP32, rows, SHAPE.topK()));
                } else {
                    request.outTopkWeights(rank.arena.tensor(DataType.FP32, rows));
                }
                DispatchResult result = rank.buffer.dispatch(request.build());
                List<Tensor> given = besides(result);
                rank.dispatch();
                assertThat(bytes(rank, given))
                        .as("%s, after one more dispatch", layout)
                        .usingElementComparator(Arrays::compare)
                        .containsExactlyElementsOf(expected);
                assertThatThrownBy(result::sourceRanks).isInstanceOf(EpStateException.class);
            }
        });
    }

    @Test
    void refusesACombineOfDifferentDispatches() throws Exception {
        onBothRanks(rank -> {
            DispatchHandle first = rank.dispatch().handle();
            DispatchResult second = rank.dispatch();
            Tensor rows = rank.arena.tensor(DataType.BF16, second.rows(), SHAPE.hidden());
            DispatchHandle handle = rank.group.rank() == 0 ? first : second.handle();
            assertThatThrownBy(() -> rank.buffer.combine(rows, handle))
                    .isInstanceOf(EpMismatchException.class)
                    .hasMessageContainingAll("routing of dispatch 1", "routing of dispatch 2");
        });
    }

    @Test
    void viewsAreOneBufferWithOptionsOfTheirOwn() throws Exception {
        onBothRanks(rank -> {
            OpOptions later = OpOptions.DEFAULT.asynchronous();
            EpBuffer view = rank.buffer.withOptions(later);
            assertThat(rank.buffer.options()).isEqualTo(OpOptions.DEFAULT);
            assertThat(view.options()).isEqualTo(later);
            assertThat(view)
                    .isEqualTo(rank.buffer.withOptions(OpOptions.DEFAULT.asynchronous()))
                    .hasSameHashCodeAs(rank.buffer.withOptions(later))
                    .isNotEqualTo(rank.buffer);
            assertThat(view.withOptions(OpOptions.DEFAULT)).isEqualTo(rank.buffer);
            DispatchResult sent = view.dispatch(rank.x, rank.ids);
            DispatchHandle handle = rank.buffer.dispatch(rank.x, sent.handle()).handle();
            CombineResult back = view.combine(rank.arena.tensor(DataType.BF16, handle.rows(), SHAPE.hidden()), handle);
            back.event().await(Guard.minute());
            assertThat(back.out().dim(0)).isEqualTo(TOKENS);
            assertThatThrownBy(back::receive)
                    .isInstanceOf(EpStateException.class)
                    .hasMessageContaining("only for operations with the receive hook");
            rank.group.barrier(Guard.minute());
            view.close();
            assertThatThrownBy(() -> rank.buffer.dispatch(rank.x, rank.ids))
                    .isInstanceOf(EpStateException.class)
                    .hasMessageContaining("closed");
        });
    }

    @Test
    void anAsynchronousReceiveReturnsBeforeOthersHaveSent() throws Exception {
        onBothRanks(rank -> {
            boolean late = rank.group.rank() == 1;
            EpBuffer later = rank.buffer.withOptions(OpOptions.DEFAULT.asynchronous());
            if (late) {
                rank.group.barrier(Guard.minute());
            }
            LowLatencyDispatchResult sent = later.lowLatencyDispatch(LowLatencyDispatchRequest.builder(rank.x, rank.ids)
                    .receiveHook()
                    .build());
            assertThatThrownBy(sent::x)
                    .isInstanceOf(EpStateException.class)
                    .hasMessageContaining("call receive() first");
            EpEvent event = sent.event();
            assertThat(event.isDone()).isFalse();
            sent.receive();
            if (!late) {
                assertThat(event.isDone()).isFalse();
                rank.group.barrier(Guard.minute());
            }
            assertThat(sent.x().dim(0)).isEqualTo(rank.buffer.placement().localExperts(rank.group.rank()));
            assertThat(event.isDone()).as("accessors wait for it").isTrue();
            CombineResult back = later.lowLatencyCombine(
                    LowLatencyCombineRequest.builder(rank.buffer.nextLowLatencyCombineInput(), sent.handle())
                            .topkWeights(rank.arena.tensor(DataType.FP32, TOKENS, SHAPE.topK()))
                            .receiveHook()
                            .build());
            back.receive();
            assertThat(back.out().dim(0)).isEqualTo(TOKENS);
            assertThat(back.weights()).isEmpty();
        });
    }

    @Test
    void anAsynchronousReceiveFailsAsItsSendDid() throws Exception {
        onBothRanks(rank -> {
            int[] bad = new int[TOKENS * SHAPE.topK()];
            Arrays.fill(bad, SHAPE.experts());
            LowLatencyDispatchResult sent = rank.buffer
                    .withOptions(OpOptions.DEFAULT.asynchronous())
                    .lowLatencyDispatch(
                            LowLatencyDispatchRequest.builder(rank.x, rank.arena.int32(bad, TOKENS, SHAPE.topK()))
                                    .receiveHook()
                                    .build());
            sent.receive();
            assertThatThrownBy(() -> sent.event().await(Guard.minute()))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("topkIds");
            assertThat(rank.buffer.lowLatencyDispatch(rank.x, rank.ids).x().dim(2))
                    .isEqualTo(SHAPE.hidden());
        });
    }

    @Test
    void givesTheMostRowsOfADispatch() throws Exception {
        onBothRanks(rank -> {
            long rows = 2L * SHAPE.maxTokens();
            assertThat(rank.buffer.maxRows(RowLayout.BY_RANK, 1)).isEqualTo(rows);
            int experts = rank.buffer.placement().localExperts(rank.group.rank());
            assertThat(rank.buffer.maxRows(RowLayout.BY_EXPERT, 8)).isEqualTo(rows * SHAPE.topK() + 7L * experts);
            assertThat(rank.buffer.maxLowLatencyRows()).isEqualTo(2L * SHAPE.maxLowLatencyTokens());
            assertThatThrownBy(() -> rank.buffer.maxRows(RowLayout.BY_RANK, 129))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("expertAlignment is 129, must be in [1, 128]");
            assertThat(rank.buffer.size()).isEqualTo(rank.group.bufferSize(SHAPE));
            assertThat(rank.buffer.size().highThroughputSms()).isZero();
        });
    }

    /** With it, the peer would write where the dispatch before still is. */
    @Test
    void receivingADispatchGivesNoCreditForTheOneBeforeItThatIsNotReceived() throws Exception {
        onBothRanks(rank -> {
            LowLatencyDispatchResult first = rank.send(Guard.minute());
            LowLatencyDispatchResult second = rank.send(Guard.minute());
            second.receive();
            if (rank.group.rank() == 0) {
                first.receive();
            }
            rank.group.barrier(Guard.minute());
            if (rank.group.rank() == 0) {
                assertThatThrownBy(() -> rank.send(Duration.ofMillis(50)))
                        .isInstanceOfSatisfying(
                                EpTimeoutException.class,
                                e -> assertThat(e.failure().phase()).isEqualTo("low-latency dispatch credit"));
            }
            rank.group.barrier(Guard.minute());
            if (rank.group.rank() == 1) {
                first.receive();
            }
        });
    }
}
