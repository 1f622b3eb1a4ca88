package org.ep4j.cli.gpu;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.ep4j.BufferSize;
import org.ep4j.EpBuffer;
import org.ep4j.Tensor;
import org.ep4j.cli.gpu.GpuInputs.RowTargets;
import org.ep4j.cli.gpu.GpuInputs.Volumes;
import org.ep4j.cli.gpu.GpuOperation.Rows;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.gpu.GpuStream;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;

/** The ceiling of every operation, over the same routing and with as many multiprocessors, and what it moves. */
record GpuCeilings(EpBuffer buffer, GpuSpec spec, GpuInputs inputs, Ceiling ceiling, GpuStream stream, Tensor result) {
    /** Bytes that a warp moves at once: whole rows where there are many of them, pieces where latency counts. */
    private static final int LARGE_PIECE = 16 << 10;

    private static final int SMALL_PIECE = 4 << 10;

    /** Returns whether the ceiling of an operation can be measured: the peers are mapped, and the kernels do what the operation does. */
    boolean isKnown(GpuOperation operation) {
        return operation.hasCeiling() && ceiling.reachesAll();
    }

    void run(GpuOperation operation, int round) {
        GpuInputs.Set set = inputs.get(round);
        int piece = operation.mode() == Mode.HT ? LARGE_PIECE : SMALL_PIECE;
        int blocks = blocks(operation);
        if (operation.sent != Rows.NONE) {
            ceiling.push(set.x().address(), aligned(operation.sent), set.toRanks(), piece, blocks, stream);
        }
        if (operation.returned != Rows.NONE) {
            RowTargets from = operation.bySelection ? set.selections() : set.toRanks();
            ceiling.pull(result.address(), aligned(operation.returned), from, piece, blocks, stream);
        }
    }

    /** Queues one kernel with as many blocks that does nothing. */
    void nothing(GpuOperation operation) {
        ceiling.nothing(blocks(operation), stream);
    }

    private int blocks(GpuOperation operation) {
        BufferSize size = buffer.size();
        return operation.mode() == Mode.HT ? size.highThroughputSms() : size.lowLatencySms();
    }

    private int aligned(Rows rows) {
        return Math.toIntExact((rows.bytes(spec.work().hidden()) + 15) / 16 * 16);
    }

    /** Returns the bytes that this rank receives in a round on average; {@code wire} leaves out those from itself. */
    double bytes(GpuOperation operation, boolean wire) {
        double[] received =
                bytes(operation, Volumes::rowsFrom, operation.bySelection ? Volumes::selectionsTo : Volumes::rowsTo);
        return Arrays.stream(received).sum() - (wire ? received[buffer.group().rank()] : 0);
    }

    /** Returns the bytes that this rank sends in a round on average, by the kind of the path that they take. */
    Map<String, Double> sentBytes(GpuOperation operation) {
        double[] sent =
                bytes(operation, Volumes::rowsTo, operation.bySelection ? Volumes::selectionsFrom : Volumes::rowsFrom);
        Map<String, Double> byPath = new TreeMap<>();
        GroupPlan plan = GroupPlan.of(buffer.group().plan());
        for (int peer = 0; peer < sent.length; peer++) {
            byPath.merge(kind(plan, buffer.group().rank(), peer), sent[peer], Double::sum);
        }
        return byPath;
    }

    /**
     * Returns the bytes between this rank and each rank in a round on average.
     *
     * @param dispatched rows of dispatches, by rank
     * @param combined rows of combines, by rank
     */
    private double[] bytes(
            GpuOperation operation, Function<Volumes, long[]> dispatched, Function<Volumes, long[]> combined) {
        double[] bytes = new double[buffer.group().size()];
        if (operation.isReceivingHalf()) {
            return bytes;
        }
        long sent = operation.sent.bytes(spec.work().hidden());
        long returned = operation.returned.bytes(spec.work().hidden());
        for (int round = 0; round < spec.iterations(); round++) {
            long[] there = dispatched.apply(inputs.get(round).volumes());
            long[] back = combined.apply(inputs.get(round).volumes());
            for (int peer = 0; peer < bytes.length; peer++) {
                bytes[peer] += (there[peer] * sent + back[peer] * returned) / (double) spec.iterations();
            }
        }
        return bytes;
    }

    /** Kind of a path, for people. */
    private static String kind(GroupPlan plan, int from, int to) {
        if (from == to) {
            return "own rank";
        }
        String who = switch (plan.pathKind(from, to)) {
            case DEVICE_POSTED -> "posted by the GPU";
            case HOST_POSTED -> "posted by a host thread";
            default -> sameGpu(plan.profiles().get(from), plan.profiles().get(to)) ? "same GPU" : "mapped memory";
        };
        return who + ", " + plan.backend(from, to);
    }

    private static boolean sameGpu(RankProfile one, RankProfile other) {
        return one.hostId().equals(other.hostId())
                && one.locality().gpu() >= 0
                && one.locality().gpu() == other.locality().gpu();
    }
}
