package org.ep4j.engine.host;

import static org.ep4j.engine.layout.LocalLayout.HighThroughput.COMBINED;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.COMBINED_WEIGHTS;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.EngineHandle;
import org.ep4j.engine.buffer.HighThroughputResults;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.sync.Mask;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

/**
 * One high-throughput combine. The token's rank reads one row for each (token, rank) in place in the other rank's memory, or in its
 * own memory if the other rank had to send it, and reduces it in the same pass. In the exact by-expert form every selection's row is
 * first sent to its slot on the token's rank.
 */
final class HighThroughputCombine extends Operation {
    private static final long WEIGHTS_FLAG = 1;

    private final HighThroughput mode;
    private final CombineRequest request;
    private final HighThroughputHandle handle;
    private final HighThroughputRouting routing;
    private final Routing sent;
    private final HostMemory x;
    private final Optional<HostMemory> weights;
    private final Optional<HostMemory> waitStatistics;
    private final List<HostMemory> biases = new ArrayList<>();
    private final RowSum sum;
    private final long rowBytes;
    private final boolean selections;
    private final ReturnedRows returned;
    private final int[] returnedRows;
    private final Tensor out;
    private final Optional<Tensor> outWeights;

    HighThroughputCombine(HighThroughput mode, CombineRequest request, RowSum sum) {
        super(mode.state);
        this.mode = mode;
        this.request = request;
        this.sum = sum;
        handle = EngineHandle.own(request.handle(), HighThroughputHandle.class, mode);
        rowBytes = layout.rowBytes();
        state.checks().combine(request, handle, handle.alignment, state.symmetric(), layout);
        x = state.views().of(request.x());
        weights = request.weights().map(state.views()::of);
        waitStatistics = request.waitStats().map(state.views()::of);
        for (Tensor bias : request.bias()) {
            biases.add(state.views().of(bias));
        }
        selections = handle.byExpert() && request.precision() == CombinePrecision.EXACT;
        out = request.out()
                .orElseGet(() -> state.tensor(
                        COMBINED, DataType.BF16, handle.tokens(), state.shape().hidden()));
        outWeights = request.weights()
                .map(w -> request.outWeights()
                        .orElseGet(() -> state.tensor(COMBINED_WEIGHTS, DataType.FP32, handle.tokens(), topK)));
        routing = handle.retain();
        sent = routing.sent;
        returned = new ReturnedRows(state, routing);
        returnedRows = returned.indices();
    }

    CombineResult result(EpEvent event) {
        return new HighThroughputResults.Combine(this, mode.combines, out, outWeights, event);
    }

    @Override
    void run(Deadline deadline) {
        try {
            exchange(deadline);
        } finally {
            handle.release();
        }
    }

    private void exchange(Deadline deadline) {
        long input = stage();
        long flags = (weights.isPresent() ? WEIGHTS_FLAG : 0);
        HighThroughput.Kind kind =
                selections ? HighThroughput.Kind.COMBINE_SELECTIONS : HighThroughput.Kind.COMBINE_ROWS;
        HighThroughput.Begun begun =
                mode.begin(kind, flags, handle.number, input, returned.starts(), new int[state.ranks()], deadline);
        returned.send(mode, begun, selections ? -1 : input, weights.isPresent());
        if (selections) {
            sendSelections(begun.mask());
        }
        mode.advance(begun, Counter.HT_DATA, r -> selections || peers.isPostedFrom(r));
        mode.await(begun, Counter.HT_DATA, r -> selections || peers.isPostedTo(r), deadline, "combine rows");
        reduce(begun, state.views().of(out));
        if (weights.isPresent()) {
            gatherWeights(begun.mask());
        }
        mode.advance(begun, Counter.HT_DONE, r -> !peers.isPostedTo(r));
        mode.await(begun, Counter.HT_DONE, r -> !peers.isPostedFrom(r), deadline, "combine end");
        returned.finish(begun);
        waitStatistics.ifPresent(begun::addWaited);
        number = begun.number();
    }

    /**
     * Puts rows and weights that other ranks read into symmetric memory, unless they are there already.
     *
     * @return where the rows begin in this rank's symmetric memory
     */
    private long stage() {
        HostMemory symmetric = peers.local();
        weights.ifPresent(this::stageWeights);
        if (selections) {
            return 0;
        }
        if (handle.byExpert()) {
            sum.begin(routing.received);
            for (int row = 0; row < routing.received; row++) {
                sum.clear();
                for (int k = 0; k < topK; k++) {
                    int expanded = routing.expandedRows[row * topK + k];
                    if (expanded >= 0) {
                        sum.add(x, expanded * rowBytes);
                    }
                }
                sum.store(symmetric, layout.combineArea() + row * rowBytes);
            }
            sum.finish();
            return layout.combineArea();
        }
        long offset = request.x().address() - state.symmetric().address();
        long bytes = routing.received * rowBytes;
        if (inside(offset, bytes, layout.rows(), layout.rowsBytes())
                || inside(offset, bytes, layout.combineArea(), layout.combineInputBytes())) {
            return offset;
        }
        copyRowsForOthers(symmetric);
        return layout.combineArea();
    }

    /** Leaves out rows of this rank's own tokens, which it reads in x. */
    private void copyRowsForOthers(HostMemory symmetric) {
        RowCopies copies = mode.copies;
        copies.begin((routing.received - sent.rowsTo[state.rank()]) * rowBytes);
        int row = 0;
        while (row < routing.received) {
            int end = row;
            while (end < routing.received && routing.sourceRanks[end] == routing.sourceRanks[row]) {
                end++;
            }
            if (routing.sourceRanks[row] != state.rank()) {
                copies.add(symmetric, layout.combineArea() + row * rowBytes, x, row * rowBytes, (end - row) * rowBytes);
            }
            row = end;
        }
        copies.finish();
    }

    private static boolean inside(long offset, long bytes, long start, long length) {
        return offset >= start && offset + bytes <= start + length;
    }

    private void stageWeights(HostMemory from) {
        HostMemory symmetric = peers.local();
        if (!handle.byExpert()) {
            symmetric.copy(layout.combineWeights(0), from, 0, routing.received * 4L * topK);
            return;
        }
        int[] row = new int[topK];
        for (int r = 0; r < routing.received; r++) {
            for (int k = 0; k < topK; k++) {
                int expanded = routing.expandedRows[r * topK + k];
                row[k] = expanded < 0 ? 0 : from.getInt(4L * expanded);
            }
            symmetric.putInts(layout.combineWeights(r), row, 0, topK);
        }
    }

    /** Number of rows that are stored in the memory of mapped ranks. */
    private long storedSelections(Mask mask) {
        long count = 0;
        for (int row = 0; row < routing.received; row++) {
            int source = routing.sourceRanks[row];
            if (mask.has(source) || source == state.rank() || peers.isPostedTo(source)) {
                continue;
            }
            for (int k = 0; k < topK; k++) {
                count += routing.expandedRows[row * topK + k] < 0 ? 0 : 1;
            }
        }
        return count;
    }

    private void sendSelections(Mask mask) {
        RowCopies copies = mode.copies;
        copies.begin(storedSelections(mask) * rowBytes);
        for (int row = 0; row < routing.received; row++) {
            int source = routing.sourceRanks[row];
            if (mask.has(source) || source == state.rank()) {
                continue;
            }
            for (int k = 0; k < topK; k++) {
                int expanded = routing.expandedRows[row * topK + k];
                if (expanded < 0) {
                    continue;
                }
                long slot = layout.selectionSlot(routing.sourceTokens[row], k);
                if (peers.isPostedTo(source)) {
                    long place = peers.place(source, slot, rowBytes);
                    peers.through(source).copy(place, x, expanded * rowBytes, rowBytes);
                } else {
                    copies.add(peers.memory(source), slot, x, expanded * rowBytes, rowBytes);
                }
            }
        }
        copies.finish();
    }

    private void reduce(HighThroughput.Begun begun, HostMemory sums) {
        sum.begin(sent.tokens);
        for (int t = 0; t < sent.tokens; t++) {
            sum.clear();
            // Without an iterator for each token.
            for (int b = 0; b < biases.size(); b++) {
                sum.add(biases.get(b), t * rowBytes);
            }
            if (selections) {
                addSelections(t, begun.mask());
            } else {
                for (int i = sent.firstTarget[t]; i < sent.firstTarget[t + 1]; i++) {
                    int target = sent.targets[i];
                    if (target == state.rank() && !handle.byExpert()) {
                        sum.add(x, routing.targetRows[i] * rowBytes);
                    } else if (!begun.mask().has(target)) {
                        addRow(target, i, begun.inputs()[target]);
                    }
                }
            }
            sum.store(sums, t * rowBytes);
        }
        sum.finish();
    }

    private void addRow(int rank, int target, long input) {
        if (peers.isPostedTo(rank)) {
            sum.add(peers.local(), layout.returnedRow(returnedRows[target]));
        } else {
            sum.add(peers.memory(rank), input + routing.targetRows[target] * rowBytes);
        }
    }

    private void addSelections(int token, Mask mask) {
        int ownRow = ownRow(token);
        for (int k = 0; k < topK; k++) {
            int id = sent.ids[token * topK + k];
            int owner = id < 0 ? -1 : state.placement().rankOf(id);
            if (owner == state.rank()) {
                sum.add(x, routing.expandedRows[ownRow * topK + k] * rowBytes);
            } else if (id >= 0 && !mask.has(owner)) {
                sum.add(peers.local(), layout.selectionSlot(token, k));
            }
        }
    }

    /** Row in which this rank received a token of its own, or -1. */
    private int ownRow(int token) {
        for (int i = sent.firstTarget[token]; i < sent.firstTarget[token + 1]; i++) {
            if (sent.targets[i] == state.rank()) {
                return routing.targetRows[i];
            }
        }
        return -1;
    }

    private void gatherWeights(Mask mask) {
        Optional<Tensor> given = request.outWeights();
        HostMemory memory = given.isPresent()
                ? state.views().of(given.get())
                : state.highThroughput().access();
        long base = given.isPresent() ? 0 : state.layout().offset(COMBINED_WEIGHTS);
        int[] row = new int[topK];
        for (int t = 0; t < sent.tokens; t++) {
            for (int k = 0; k < topK; k++) {
                row[k] = 0;
                int id = sent.ids[t * topK + k];
                if (id < 0 || mask.has(state.placement().rankOf(id))) {
                    continue;
                }
                int owner = state.placement().rankOf(id);
                for (int i = sent.firstTarget[t]; i < sent.firstTarget[t + 1]; i++) {
                    if (sent.targets[i] == owner) {
                        row[k] = returnedWeight(owner, i, k);
                    }
                }
            }
            memory.putInts(base + 4L * t * topK, row, 0, topK);
        }
    }

    private int returnedWeight(int owner, int target, int k) {
        return peers.isPostedTo(owner)
                ? peers.local().getInt(layout.returnedWeights(returnedRows[target]) + 4L * k)
                : peers.memory(owner).getInt(layout.combineWeights(routing.targetRows[target]) + 4L * k);
    }
}
