package org.ep4j.cli.gpu;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.EpDevice;
import org.ep4j.Tensor;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.oracle.Workload;

/** Random inputs of one rank for one number of tokens: several sets, taken in turn. Freed together. */
final class GpuInputs implements AutoCloseable {
    /** So many sets that rounds do not find each other's rows in a cache, and see different routing. */
    static final int SETS = 4;

    private static final int BLOCK = 1 << 22;

    private final Arena arena;
    private final EpDevice device;
    private final GpuSpec spec;
    private final int rank;
    private final int tokens;
    private final List<Set> sets = new ArrayList<>();

    /**
     * One set.
     *
     * @param x {@code [T, H]} BF16
     * @param fp8 {@code [T, H]}
     * @param scales {@code [T, S]}
     * @param ids {@code [T, K]} INT64
     * @param weights {@code [T, K]}
     * @param toRanks one target for each rank that a token goes to
     * @param selections one target for each selection
     * @param volumes rows between this rank and others
     */
    record Set(
            Tensor x,
            Tensor fp8,
            Tensor scales,
            Tensor ids,
            Tensor weights,
            RowTargets toRanks,
            RowTargets selections,
            Volumes volumes) {}

    /**
     * Places where the rows of tokens are stored.
     *
     * @param width targets of a token
     * @param rank {@code [T, width]} INT32, -1 for none
     * @param row {@code [T, width]} INT32
     */
    record RowTargets(int width, Tensor rank, Tensor row) {}

    /**
     * Numbers of rows between this rank and each rank.
     *
     * @param rowsTo of its tokens, one for each token that goes to that rank
     * @param rowsFrom of tokens of that rank, one for each that comes here
     * @param selectionsTo as {@code rowsTo}, but one for each selection
     * @param selectionsFrom as {@code rowsFrom}, but one for each selection
     */
    @SuppressWarnings("ArrayRecordComponent") // read in loops; equality is not asked of it
    record Volumes(long[] rowsTo, long[] rowsFrom, long[] selectionsTo, long[] selectionsFrom) {}

    /** @param capacity rows that a rank has for ceilings */
    GpuInputs(EpDevice device, GpuSpec spec, int rank, int tokens, long capacity) {
        this.arena = new Arena(device);
        this.device = device;
        this.spec = spec;
        this.rank = rank;
        this.tokens = tokens;
        for (int i = 0; i < SETS; i++) {
            sets.add(set(spec.work().workload(i, tokens), capacity));
        }
    }

    Set get(int round) {
        return sets.get(round % SETS);
    }

    int tokens() {
        return tokens;
    }

    /** Room for a result, {@code [T, H]} BF16. */
    Tensor result() {
        return arena.allocate(DataType.BF16, tokens, spec.work().hidden());
    }

    private Set set(Workload workload, long capacity) {
        int hidden = spec.work().hidden();
        int topK = spec.work().topK();
        SplittableRandom random = new SplittableRandom(workload.seed() * 31 + rank);
        Tensor x = arena.allocate(DataType.BF16, tokens, hidden);
        fill(device, x.memory(), random);
        Tensor fp8 = arena.allocate(DataType.FP8_E4M3, tokens, hidden);
        fill(device, fp8.memory(), random);
        Tensor scales = arena.allocate(DataType.FP32, tokens, (hidden + 127) / 128);
        fill(device, scales.memory(), random);
        return new Set(
                x,
                fp8,
                scales,
                arena.longs(workload.ids(rank), tokens, topK),
                arena.floats(workload.weights(rank), tokens, topK),
                targets(workload, Math.min(spec.work().ranks(), topK), true, capacity),
                targets(workload, topK, false, capacity),
                volumes(workload));
    }

    /** Pairs of bytes that are BF16 numbers of moderate size. */
    static void fill(EpDevice device, DeviceMemory memory, SplittableRandom random) {
        ByteBuffer block = ByteBuffer.allocateDirect((int) Math.min(BLOCK, memory.byteSize()))
                .order(ByteOrder.nativeOrder());
        for (int at = 0; at + 1 < block.capacity(); at += 2) {
            block.putShort(at, (short) (0x3c00 | (random.nextInt() & 0x83ff)));
        }
        for (long at = 0; at < memory.byteSize(); at += block.capacity()) {
            block.clear().limit((int) Math.min(block.capacity(), memory.byteSize() - at));
            device.upload(block, memory.slice(at, block.limit()));
        }
    }

    /** Rows of all ranks are stored one behind the other, ordered by source rank, source token and target. */
    private RowTargets targets(Workload workload, int width, boolean once, long capacity) {
        long[] next = new long[workload.ranks()];
        int[] ranks = new int[tokens * width];
        int[] rows = new int[tokens * width];
        Arrays.fill(ranks, -1);
        for (int source = 0; source <= rank; source++) {
            for (int token = 0; token < tokens; token++) {
                IntStream all = owners(workload, source, token);
                int used = token * width;
                for (int target : (once ? all.distinct() : all).toArray()) {
                    if (source == rank) {
                        ranks[used] = target;
                        rows[used] = (int) (next[target] % capacity);
                        used++;
                    }
                    next[target]++;
                }
            }
        }
        return new RowTargets(width, arena.ints(ranks, tokens, width), arena.ints(rows, tokens, width));
    }

    private Volumes volumes(Workload workload) {
        int ranks = workload.ranks();
        Volumes volumes = new Volumes(new long[ranks], new long[ranks], new long[ranks], new long[ranks]);
        for (int source = 0; source < ranks; source++) {
            for (int token = 0; token < tokens; token++) {
                int[] targets = owners(workload, source, token).toArray();
                long here =
                        Arrays.stream(targets).filter(target -> target == rank).count();
                volumes.rowsFrom[source] += here > 0 ? 1 : 0;
                volumes.selectionsFrom[source] += here;
                if (source == rank) {
                    Arrays.stream(targets).distinct().forEach(target -> volumes.rowsTo[target]++);
                    Arrays.stream(targets).forEach(target -> volumes.selectionsTo[target]++);
                }
            }
        }
        return volumes;
    }

    /** The rank of each selection of a token. */
    private static IntStream owners(Workload workload, int source, int token) {
        return workload.selections(source, token).map(workload::rankOf);
    }

    @Override
    public void close() {
        arena.close();
    }
}
