package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntFunction;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.Tensor;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.layout.BufferLayout;

/**
 * Ranks that are threads of this JVM, each with a group and a buffer of the host engine, with a deadline for all that they do: a rank
 * that hangs fails its test with the stacks of all ranks.
 */
final class ThreadRanks implements AutoCloseable {
    private static final Duration HANG = Duration.ofSeconds(30);

    private final EpShape shape;
    private final List<Rank> ranks = new ArrayList<>();

    /** Joins so many ranks, whose operations wait no longer than {@code timeout}. */
    ThreadRanks(int count, EpShape shape, Duration timeout) {
        this.shape = shape;
        EpConfig config = EpConfig.builder(Map.of(), Map.of())
                .set(EpKeys.TIMEOUT, timeout.toMillis() + "ms")
                .build();
        var bootstraps = Bootstraps.inProcess(count);
        CyclicBarrier meeting = new CyclicBarrier(count);
        List<CompletableFuture<Rank>> joining = new ArrayList<>();
        for (int r = 0; r < count; r++) {
            int rank = r;
            joining.add(start("join " + r, () -> {
                        EpGroup group = EpGroup.join(bootstraps.get(rank), config);
                        return new Rank(group, group.createBuffer(shape), meeting);
                    })
                    .result());
        }
        joining.forEach(one -> ranks.add(get(one, List.of())));
    }

    /** What one rank does. */
    interface Work<T> {
        T run() throws Exception;
    }

    private record Started<T>(Thread thread, CompletableFuture<T> result) {}

    private static <T> Started<T> start(String name, Work<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(
                () -> {
                    try {
                        result.complete(work.run());
                    } catch (Throwable e) {
                        result.completeExceptionally(e);
                    }
                },
                name);
        thread.setDaemon(true);
        thread.start();
        return new Started<>(thread, result);
    }

    private static <T> T get(CompletableFuture<T> result, List<Thread> threads) {
        try {
            return result.get(HANG.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            StringBuilder stacks = new StringBuilder();
            for (Thread thread : threads) {
                stacks.append(thread.getName()).append(": ").append(List.of(thread.getStackTrace()));
            }
            throw new AssertionError("a rank hangs; " + stacks, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        } catch (java.util.concurrent.ExecutionException e) {
            throw new AssertionError("a rank failed: " + e.getCause(), e.getCause());
        }
    }

    /** What one rank does with its group and buffer. */
    interface RankWork {
        void run(Rank rank) throws Exception;
    }

    /** All ranks at once; none fails. */
    void all(RankWork work) {
        List<Optional<Throwable>> failures = outcomes(work);
        for (int r = 0; r < failures.size(); r++) {
            Throwable failure = failures.get(r).orElse(null);
            if (failure != null) {
                throw new AssertionError("rank " + r + " failed: " + failure, failure);
            }
        }
    }

    /** All ranks at once; how each failed, if it did. */
    List<Optional<Throwable>> outcomes(RankWork work) {
        List<Started<Optional<Throwable>>> started = new ArrayList<>();
        for (Rank rank : ranks) {
            started.add(start("rank " + rank.number(), () -> {
                try {
                    work.run(rank);
                    return Optional.empty();
                } catch (Throwable e) {
                    return Optional.of(e);
                }
            }));
        }
        List<Thread> threads = started.stream().map(Started::thread).toList();
        return started.stream().map(one -> get(one.result(), threads)).toList();
    }

    Rank rank(int number) {
        return ranks.get(number);
    }

    int size() {
        return ranks.size();
    }

    @Override
    public void close() {
        outcomes(rank -> rank.group.close())
                .forEach(outcome -> assertThat(outcome).as("closing").isEmpty());
    }

    /** One rank. */
    final class Rank {
        private final EpGroup group;
        private final EpBuffer buffer;
        private final CyclicBarrier meeting;

        private Rank(EpGroup group, EpBuffer buffer, CyclicBarrier meeting) {
            this.group = group;
            this.buffer = buffer;
            this.meeting = meeting;
        }

        int number() {
            return group.rank();
        }

        boolean is(int number) {
            return group.rank() == number;
        }

        EpGroup group() {
            return group;
        }

        EpBuffer buffer() {
            return buffer;
        }

        /** All ranks, by number. */
        List<Rank> peers() {
            return ranks;
        }

        /** Waits for all ranks. */
        void meet() throws Exception {
            meeting.await(HANG.toMillis(), TimeUnit.MILLISECONDS);
        }

        Tensor tensor(DataType type, long... dims) {
            long bytes =
                    Tensor.bytes(type, java.util.Arrays.stream(dims).boxed().toList());
            ByteBuffer memory = ByteBuffer.allocateDirect((int) bytes + 256).alignedSlice(16);
            return Tensor.of(group.device().wrap(memory), type, dims);
        }

        /** Rows of which each has one value. */
        Tensor rows(int count, IntFunction<Float> value) {
            Tensor rows = tensor(DataType.BF16, count, shape.hidden());
            ByteBuffer view = view(rows);
            for (int i = 0; i < count * shape.hidden(); i++) {
                view.putShort(2 * i, bf16(value.apply(i / shape.hidden())));
            }
            return rows;
        }

        Tensor ints(int[] values, long... dims) {
            Tensor tensor = tensor(DataType.INT32, dims);
            view(tensor).asIntBuffer().put(values);
            return tensor;
        }

        Tensor longs(long[] values, long... dims) {
            Tensor tensor = tensor(DataType.INT64, dims);
            view(tensor).asLongBuffer().put(values);
            return tensor;
        }

        Tensor floats(float[] values, long... dims) {
            Tensor tensor = tensor(DataType.FP32, dims);
            view(tensor).asFloatBuffer().put(values);
            return tensor;
        }

        ByteBuffer view(Tensor tensor) {
            return group.device().view(tensor.memory()).order(ByteOrder.nativeOrder());
        }

        /** Values of BF16 rows, after checking that each row has one value. */
        List<Float> values(Tensor rows) {
            ByteBuffer view = view(rows);
            List<Float> values = new ArrayList<>();
            int hidden = shape.hidden();
            for (int row = 0; row < rows.elements() / hidden; row++) {
                short first = view.getShort(2 * row * hidden);
                for (int i = 1; i < hidden; i++) {
                    assertThat(view.getShort(2 * (row * hidden + i))).isEqualTo(first);
                }
                values.add(Float.intBitsToFloat(first << 16));
            }
            return values;
        }

        /** All of this rank's symmetric memory. */
        DeviceMemory symmetric() {
            BufferLayout layout = new BufferLayout(shape, group.size());
            long start = buffer.combineInput().address() - layout.combineArea();
            return new DeviceMemory(start, layout.bytes(), group.device().id());
        }

        /** Makes NaN of every BF16 and FP32 value that is read of a part of this rank's symmetric memory. */
        void poison(long from, long to) {
            ByteBuffer view = group.device().view(symmetric().slice(from, to - from));
            for (int i = 0; i < view.capacity(); i++) {
                view.put(i, (byte) 0xff);
            }
        }
    }

    static short bf16(float value) {
        return (short) (Float.floatToRawIntBits(value) >>> 16);
    }
}
