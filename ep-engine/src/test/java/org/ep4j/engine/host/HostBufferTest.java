package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.ep4j.Bootstrap;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DeviceAllocation;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpMismatchException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
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
        private final List<DeviceAllocation> allocations = new ArrayList<>();
        private final Tensor x;
        private final Tensor ids;

        Rank(EpGroup group) {
            this.group = group;
            buffer = group.createBuffer(SHAPE);
            x = tensor(DataType.BF16, TOKENS, SHAPE.hidden());
            ids = tensor(DataType.INT32, TOKENS, SHAPE.topK());
            ByteBuffer values = ByteBuffer.allocate(4 * TOKENS * SHAPE.topK()).order(ByteOrder.nativeOrder());
            for (int i = 0; i < TOKENS * SHAPE.topK(); i++) {
                values.putInt(i % SHAPE.experts());
            }
            group.device().upload(values.flip(), ids.memory());
        }

        private Tensor tensor(DataType type, long... dims) {
            DeviceAllocation allocation = group.device().allocate(Tensor.bytes(type, List.of(dims[0], dims[1])));
            allocations.add(allocation);
            return Tensor.of(allocation.memory(), type, dims);
        }

        DispatchResult dispatch() {
            return buffer.dispatch(DispatchRequest.of(x, ids).build());
        }

        LowLatencyDispatchResult send(Duration longest) {
            return buffer.dispatch(LowLatencyDispatchRequest.of(x, ids)
                    .hook()
                    .options(OpOptions.DEFAULT.timeout(longest))
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
                rank.allocations.forEach(DeviceAllocation::close);
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

    @Test
    void refusesACombineOfDifferentDispatches() throws Exception {
        onBothRanks(rank -> {
            DispatchHandle first = rank.dispatch().handle();
            DispatchResult second = rank.dispatch();
            Tensor rows = rank.tensor(DataType.BF16, second.rows(), SHAPE.hidden());
            DispatchHandle handle = rank.group.rank() == 0 ? first : second.handle();
            assertThatThrownBy(() ->
                            rank.buffer.combine(CombineRequest.of(rows, handle).build()))
                    .isInstanceOf(EpMismatchException.class)
                    .hasMessageContainingAll("routing of dispatch 1", "routing of dispatch 2");
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
