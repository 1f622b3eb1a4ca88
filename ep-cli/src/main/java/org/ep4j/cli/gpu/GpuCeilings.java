package org.ep4j.cli.gpu;

import org.ep4j.BufferSize;
import org.ep4j.EpBuffer;
import org.ep4j.Tensor;
import org.ep4j.cli.gpu.GpuInputs.Volumes;
import org.ep4j.cli.gpu.GpuOperation.Rows;
import org.ep4j.cli.rank.WorkSpec.Mode;
import org.ep4j.gpu.GpuStream;

/** The ceiling of every operation, over the same routing and with as many multiprocessors, and what it moves. */
final class GpuCeilings {
    /** Bytes that a warp moves at once: whole rows where there are many of them, pieces where latency counts. */
    private static final int LARGE_PIECE = 16 << 10;

    private static final int SMALL_PIECE = 4 << 10;

    private final EpBuffer buffer;
    private final GpuSpec spec;
    private final GpuInputs inputs;
    private final Ceiling ceiling;
    private final GpuStream stream;
    private final Tensor result;

    GpuCeilings(EpBuffer buffer, GpuSpec spec, GpuInputs inputs, Ceiling ceiling, GpuStream stream) {
        this.buffer = buffer;
        this.spec = spec;
        this.inputs = inputs;
        this.ceiling = ceiling;
        this.stream = stream;
        this.result = inputs.result();
    }

    /** Whether there are any: with peers that are not mapped there are none. */
    boolean areKnown() {
        return ceiling.reachesAll();
    }

    void run(GpuOperation operation, int round) {
        GpuInputs.Set set = inputs.get(round);
        int piece = operation.mode() == Mode.HT ? LARGE_PIECE : SMALL_PIECE;
        int blocks = blocks(operation);
        int rowBytes = aligned(operation.rows());
        switch (operation.traffic()) {
            case TO_RANKS -> ceiling.push(set.x().address(), rowBytes, set.toRanks(), piece, blocks, stream);
            case FROM_RANKS -> ceiling.pull(result.address(), rowBytes, set.toRanks(), piece, blocks, stream);
            case OF_SELECTIONS -> ceiling.pull(result.address(), rowBytes, set.selections(), piece, blocks, stream);
            case BOTH_EXACT -> {
                ceiling.push(set.x().address(), aligned(Rows.FP8), set.toRanks(), piece, blocks, stream);
                ceiling.pull(result.address(), rowBytes, set.selections(), piece, blocks, stream);
            }
            case BOTH_PARTIAL -> {
                ceiling.push(set.x().address(), aligned(Rows.FP8), set.toRanks(), piece, blocks, stream);
                ceiling.pull(result.address(), rowBytes, set.toRanks(), piece, blocks, stream);
            }
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

    /** Received in a round on average, own rows included. */
    double logicalBytes(GpuOperation operation) {
        return bytes(operation, false);
    }

    /** Received from others. */
    double wireBytes(GpuOperation operation) {
        return bytes(operation, true);
    }

    private double bytes(GpuOperation operation, boolean wire) {
        double sum = 0;
        for (int round = 0; round < spec.iterations(); round++) {
            Volumes v = inputs.get(round).volumes();
            long to = v.dispatched() - (wire ? v.own() : 0);
            long from = v.returned() - (wire ? v.own() : 0);
            long selected = v.selections() - (wire ? v.ownSelections() : 0);
            long rowBytes = operation.rows().bytes(spec.work().hidden());
            long fp8Bytes = Rows.FP8.bytes(spec.work().hidden());
            sum += switch (operation.traffic()) {
                case TO_RANKS -> to * rowBytes;
                case FROM_RANKS -> from * rowBytes;
                case OF_SELECTIONS -> selected * rowBytes;
                case BOTH_EXACT -> to * fp8Bytes + selected * rowBytes;
                case BOTH_PARTIAL -> to * fp8Bytes + from * rowBytes;
            };
        }
        return sum / spec.iterations();
    }
}
