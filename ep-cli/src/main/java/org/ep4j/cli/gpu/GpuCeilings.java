package org.ep4j.cli.gpu;

import org.ep4j.BufferSize;
import org.ep4j.EpBuffer;
import org.ep4j.Tensor;
import org.ep4j.cli.gpu.GpuInputs.RowTargets;
import org.ep4j.cli.gpu.GpuInputs.Volumes;
import org.ep4j.cli.gpu.GpuOperation.Rows;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.gpu.GpuStream;

/** The ceiling of every operation, over the same routing and with as many multiprocessors, and what it moves. */
record GpuCeilings(EpBuffer buffer, GpuSpec spec, GpuInputs inputs, Ceiling ceiling, GpuStream stream, Tensor result) {
    /** Bytes that a warp moves at once: whole rows where there are many of them, pieces where latency counts. */
    private static final int LARGE_PIECE = 16 << 10;

    private static final int SMALL_PIECE = 4 << 10;

    /** Returns whether ceilings can be measured: the peers are mapped. */
    boolean areKnown() {
        return ceiling.reachesAll();
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
        long sent = operation.sent.bytes(spec.work().hidden());
        long returned = operation.returned.bytes(spec.work().hidden());
        double sum = 0;
        for (int round = 0; round < spec.iterations(); round++) {
            Volumes v = inputs.get(round).volumes();
            long rows = operation.bySelection ? v.selections() : v.returned();
            long own = operation.bySelection ? v.ownSelections() : v.own();
            sum += (v.dispatched() - (wire ? v.own() : 0)) * sent + (rows - (wire ? own : 0)) * returned;
        }
        return sum / spec.iterations();
    }
}
