package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;
import org.ep4j.engine.Engine;
import org.ep4j.testing.Guard;
import org.ep4j.transport.memory.DeviceArena;
import org.ep4j.transport.memory.EngineDevice;

/**
 * Two groups of the same shape, one on the host and one on emulated GPUs, whose ranks are threads. A scenario runs on both;
 * what it keeps must be equal to the last bit.
 */
final class GpuAgainstHost implements AutoCloseable {
    private static final Duration PATIENCE = Guard.minutes(5);
    /**
     * Timeout of operations. An emulated GPU is as slow as the processors that all ranks share: for 34 of them, on a busy machine, the
     * default may be short.
     */
    static final Duration TIMEOUT = Guard.minutes(2);

    /** Most multiprocessors that a call draws, of the 16 of an emulated GPU: emulated blocks take time. */
    private static final int MULTIPROCESSORS = 6;

    private final List<Rank> host;
    private final List<Rank> gpu;
    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work, "rank");
        thread.setDaemon(true);
        return thread;
    });

    /** What one rank does; the same code runs on the host and on the GPU. */
    interface Scenario {
        void run(Rank rank);
    }

    /** Groups with one buffer each. */
    GpuAgainstHost(EpShape shape, int ranks) {
        this(shape, ranks, Map.of());
    }

    /** Groups with one buffer each, and settings of the GPU's. */
    GpuAgainstHost(EpShape shape, int ranks, Map<String, String> settings) {
        // Once, not by all ranks at the same time.
        try (var device = EmulatedGpu.open(0)) {
            List<String> sources =
                    KernelSource.units(shape, ranks, device.info().sharedBytes(), Optional.empty(), Set.of());
            KernelModules.load(sources, source -> device.load("ep4j kernels", source))
                    .close();
        }
        host = join(shape, ranks, "host:0", Map.of());
        gpu = join(shape, ranks, EmulatedGpu.TYPE + ":", settings);
    }

    private List<Rank> join(EpShape shape, int ranks, String device, Map<String, String> settings) {
        List<Bootstrap> bootstraps = Bootstrap.inProcess(ranks);
        return all(ranks, r -> {
            var config = EpConfig.builder(settings, Map.of())
                    .set("ep.device", device.endsWith(":") ? device + r : device)
                    .set("ep.timeout", settings.getOrDefault("ep.timeout", TIMEOUT.toSeconds() + "s"))
                    .set("ep.setup-timeout", TIMEOUT.toSeconds() + "s")
                    .build();
            EpGroup group = EpGroup.join(bootstraps.get(r), config);
            return new Rank(bootstraps.get(r), group, group.createBuffer(shape));
        });
    }

    /** Runs a scenario on all ranks of both groups and compares what they kept. */
    void check(Scenario scenario) {
        List<Map<String, String>> expected = run(host, scenario);
        List<Map<String, String>> actual = run(gpu, scenario);
        for (int r = 0; r < expected.size(); r++) {
            assertThat(actual.get(r)).as("rank %d", r).isEqualTo(expected.get(r));
        }
    }

    /** Runs a scenario on all ranks of the group on emulated GPUs. */
    void onGpu(Scenario scenario) {
        run(gpu, scenario);
    }

    private List<Map<String, String>> run(List<Rank> ranks, Scenario scenario) {
        return all(ranks.size(), r -> {
            Rank rank = ranks.get(r);
            rank.kept.clear();
            try {
                scenario.run(rank);
                return Map.copyOf(rank.kept);
            } catch (RuntimeException | Error e) {
                // The others may wait for what this rank will never do.
                new Engine().declareDead(rank.bootstrap, e.toString());
                throw e;
            } finally {
                rank.free();
            }
        });
    }

    private interface OfRank<T> {
        T get(int rank);
    }

    private <T> List<T> all(int ranks, OfRank<T> work) {
        List<CompletableFuture<T>> futures = new ArrayList<>();
        for (int r = 0; r < ranks; r++) {
            int rank = r;
            futures.add(CompletableFuture.supplyAsync(() -> work.get(rank), threads));
        }
        List<T> results = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        long end = System.nanoTime() + PATIENCE.toNanos();
        for (int r = 0; r < ranks; r++) {
            try {
                results.add(futures.get(r).get(end - System.nanoTime(), TimeUnit.NANOSECONDS));
            } catch (ExecutionException e) {
                failures.add(new AssertionError("rank " + r + ": " + e.getCause(), e.getCause()));
            } catch (TimeoutException e) {
                failures.add(new AssertionError("rank " + r + " has not ended within " + PATIENCE, e));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError(e);
            }
        }
        if (!failures.isEmpty()) {
            // Of all, since most only wait for one that has another reason.
            var failure = new AssertionError(failures.size() + " ranks failed: "
                    + failures.stream().map(Throwable::getMessage).collect(Collectors.joining("; ")));
            failures.forEach(failure::addSuppressed);
            throw failure;
        }
        return results;
    }

    @Override
    public void close() {
        for (List<Rank> ranks : List.of(host, gpu)) {
            all(ranks.size(), r -> {
                ranks.get(r).group.close();
                return r;
            });
        }
        threads.shutdown();
    }

    /** One rank of one group. */
    static final class Rank {
        private final Bootstrap bootstrap;
        private final EpGroup group;
        private final EpBuffer buffer;
        private final Map<String, String> kept = new LinkedHashMap<>();
        private TensorArena arena;

        private Rank(Bootstrap bootstrap, EpGroup group, EpBuffer buffer) {
            this.bootstrap = bootstrap;
            this.group = group;
            this.buffer = buffer;
            this.arena = newArena();
        }

        /** Freeing its memory waits for kernels: a scenario may leave operations that are not awaited. */
        private TensorArena newArena() {
            EngineDevice device = EngineDevice.of(group.device());
            return new DeviceArena(device, device::allocate);
        }

        int number() {
            return group.rank();
        }

        EpGroup group() {
            return group;
        }

        EpBuffer buffer() {
            return buffer;
        }

        /** The buffer for one call, with its own number of multiprocessors or one that is drawn, which the host ignores. */
        EpBuffer buffer(Random random) {
            return random.nextBoolean()
                    ? buffer
                    : buffer.withOptions(buffer.options().multiprocessors(1 + random.nextInt(MULTIPROCESSORS)));
        }

        /** New memory on this rank's device, until the scenario ends; {@code values} may be shorter. */
        Tensor tensor(DataType type, byte[] values, long... dims) {
            return fill(arena.tensor(type, dims), values);
        }

        Tensor ints(int[] values, long... dims) {
            ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.nativeOrder());
            bytes.asIntBuffer().put(values);
            return tensor(DataType.INT32, bytes.array(), dims);
        }

        Tensor longs(long[] values, long... dims) {
            ByteBuffer bytes = ByteBuffer.allocate(8 * values.length).order(ByteOrder.nativeOrder());
            bytes.asLongBuffer().put(values);
            return tensor(DataType.INT64, bytes.array(), dims);
        }

        Tensor floats(float[] values, long... dims) {
            ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.nativeOrder());
            bytes.asFloatBuffer().put(values);
            return tensor(DataType.FP32, bytes.array(), dims);
        }

        /** Writes over the beginning of a tensor. */
        Tensor fill(Tensor tensor, byte[] values) {
            ByteBuffer copy =
                    ByteBuffer.allocateDirect(values.length).put(values).flip();
            if (copy.hasRemaining()) {
                group.device().upload(copy, tensor.memory().slice(0, values.length));
            }
            return tensor;
        }

        byte[] read(Tensor tensor) {
            ByteBuffer copy = ByteBuffer.allocateDirect((int) tensor.byteSize());
            if (copy.hasRemaining()) {
                group.device().download(tensor.memory(), copy);
            }
            byte[] bytes = new byte[copy.capacity()];
            copy.flip().get(bytes);
            return bytes;
        }

        int[] readInts(Tensor tensor) {
            int[] values = new int[(int) tensor.elements()];
            ByteBuffer.wrap(read(tensor))
                    .order(ByteOrder.nativeOrder())
                    .asIntBuffer()
                    .get(values);
            return values;
        }

        /** Keeps a value to be compared. */
        void keep(String name, Object value) {
            assertThat(kept.put(name, value.toString())).as(name).isNull();
        }

        /** Keeps shape, type and all bytes. */
        void keep(String name, Tensor tensor) {
            keep(name, tensor.type() + shape(tensor) + " " + text(tensor, read(tensor)));
        }

        /** As {@link #keep(String, Tensor)}, without the rows that say nothing. */
        void keepRows(String name, Tensor tensor, boolean[] defined) {
            byte[] bytes = read(tensor);
            int row = defined.length == 0 ? 0 : bytes.length / defined.length;
            for (int i = 0; i < defined.length; i++) {
                if (!defined[i]) {
                    java.util.Arrays.fill(bytes, i * row, (i + 1) * row, (byte) 0);
                }
            }
            keep(name, tensor.type() + shape(tensor) + " " + text(tensor, bytes));
        }

        private static String shape(Tensor tensor) {
            return IntStream.range(0, tensor.dimensions())
                    .mapToObj(tensor::dim)
                    .toList()
                    .toString();
        }

        private static String text(Tensor tensor, byte[] bytes) {
            ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
            if (tensor.type() == DataType.INT32) {
                int[] values = new int[bytes.length / 4];
                in.asIntBuffer().get(values);
                return java.util.Arrays.toString(values);
            }
            if (tensor.type() == DataType.INT64) {
                long[] values = new long[bytes.length / 8];
                in.asLongBuffer().get(values);
                return java.util.Arrays.toString(values);
            }
            // One line of a short sum a row, so that differences can be read.
            int rows = tensor.dimensions() == 0 ? 1 : (int) tensor.dim(0);
            int row = rows == 0 ? 0 : bytes.length / rows;
            List<String> lines = new ArrayList<>();
            for (int i = 0; i < rows; i++) {
                byte[] part = java.util.Arrays.copyOfRange(bytes, i * row, (i + 1) * row);
                lines.add(HexFormat.of().formatHex(part, 0, Math.min(8, row)) + ":"
                        + Integer.toHexString(java.util.Arrays.hashCode(part)));
            }
            return lines.toString();
        }

        /** Keeps how {@code work} fails, or that it does not. */
        void keepFailure(String name, Runnable work) {
            try {
                work.run();
                keep(name, "no failure");
            } catch (EpException e) {
                keep(name, e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }

        /** Keeps all that a high-throughput dispatch gives and says something. */
        void keep(String name, DispatchResult result, DispatchRequest request) {
            result.event().await(Guard.minute());
            keep(name + ".rows", result.rows());
            keep(name + ".sourceRanks", result.sourceRanks());
            keep(name + ".sourceTokens", result.sourceTokens());
            keep(name + ".rowsPerSource", result.rowsPerSource());
            keep(name + ".rowsPerExpert", result.rowsPerExpert());
            keep(name + ".expertOffsets", result.expertOffsets());
            keep(name + ".hostRowsPerExpert", java.util.Arrays.toString(result.hostRowsPerExpert()));
            keep(
                    name + ".handle",
                    result.handle().rows() + " " + result.handle().tokens() + " "
                            + result.handle().layout());
            boolean byExpert = result.handle().layout() == RowLayout.BY_EXPERT;
            int[] sources = readInts(result.sourceRanks());
            boolean[] defined = new boolean[sources.length];
            for (int i = 0; i < sources.length; i++) {
                boolean padding = byExpert && i < result.handle().rows();
                defined[i] = sources[i] >= 0 || (padding && request.zeroPadding());
            }
            keepRows(name + ".x", result.x(), defined);
            result.scales().ifPresent(scales -> keepRows(name + ".scales", scales, defined));
            result.topkIds().ifPresent(ids -> keep(name + ".ids", ids));
            result.topkWeights().ifPresent(weights -> keep(name + ".weights", weights));
            keep(
                    name + ".present",
                    result.scales().isPresent() + " " + result.topkIds().isPresent() + " "
                            + result.topkWeights().isPresent());
        }

        private void free() {
            arena.close();
            arena = newArena();
        }
    }
}
