package org.ep4j.engine.host;

import static org.ep4j.engine.layout.LocalLayout.HighThroughput.EXPANDED;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.EXPANDED_SCALES;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.EXPERT_OFFSETS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.ROWS_PER_EXPERT;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.ROWS_PER_SOURCE;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.SCALES;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.SOURCE_RANKS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.SOURCE_TOKENS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.TOPK_IDS;
import static org.ep4j.engine.layout.LocalLayout.HighThroughput.TOPK_WEIGHTS;

import java.util.Arrays;
import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.EpOverflowException;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Peers;

/**
 * One high-throughput dispatch: counts, then every row written once to its final place in the memory of each rank that
 * needs it, with a record of its ids, weights and scales; then the records are unpacked, and in the by-expert layout the
 * rows are expanded, in local memory.
 */
final class HighThroughputDispatch {
    private static final long FP8_FLAG = 1;
    private static final long WEIGHTS_FLAG = 2;
    private static final long FNUZ_FLAG = 4;

    private final HighThroughput mode;
    private final HostState state;
    private final BufferLayout layout;
    private final DispatchRequest request;
    private final Optional<HighThroughputHandle> cached;
    private final int tokens;
    private final int topK;
    private final int scales;
    private final long rowBytes;
    private final long worstRows;
    private final HostMemory x;
    private final Optional<HostMemory> xScales;
    private final Optional<HostMemory> weights;
    private final PassedRows passed;

    /** Checks all that can be checked without reading device contents. */
    HighThroughputDispatch(HighThroughput mode, DispatchRequest request) {
        this.mode = mode;
        this.state = mode.state();
        this.layout = state.peers().layout();
        this.request = request;
        int hidden = state.shape().hidden();
        RequestChecks checks = state.checks();
        tokens = checks.dispatch(request);
        topK = state.shape().topK();
        x = state.views().of(request.x());
        scales = request.scales().isPresent() ? state.shape().scales() : 0;
        rowBytes = (long) hidden * request.x().type().bytes();
        xScales = request.scales().map(state.views()::of);
        weights = request.topkWeights().map(state.views()::of);
        passed = new PassedRows(state, rowBytes, scales);
        cached = request.cached().map(handle -> Handles.own(handle, mode));
        checks.dispatchTo(request, tokens, cached);
        worstRows = checks.worstRows(
                request.layout(), cached.map(HighThroughputHandle::alignment).orElse(request.expertAlignment()));
    }

    /** Runs it. */
    HighThroughputResult run(Deadline deadline) {
        Routing routing = cached.map(HighThroughputHandle::routing).orElseGet(this::readRouting);
        long flags = (scales > 0 ? FP8_FLAG : 0)
                | (weights.isPresent() ? WEIGHTS_FLAG : 0)
                | (request.x().type() == DataType.FP8_E4M3_FNUZ ? FNUZ_FLAG : 0);
        long handleNumber = cached.map(HighThroughputHandle::number).orElse(0L);
        state.checks().room(request, worstRows);
        int[] passedBy = passed.counts(routing, state.waits().mask());
        HighThroughput.Begun begun = cached.isPresent()
                ? mode.begin(
                        HighThroughput.Kind.CACHED_DISPATCH, flags, handleNumber, 0, new int[0], passedBy, deadline)
                : mode.begin(HighThroughput.Kind.DISPATCH, flags, 0, 0, routing.rowsTo(), passedBy, deadline);
        int[] rowsFrom = new int[state.ranks()];
        int[] targetRows;
        int[] firstRows = new int[state.ranks() * state.ranks()];
        if (cached.isPresent()) {
            targetRows = cached.get().targetRows();
            firstRows = cached.get().firstRows();
            countCachedRows(cached.get(), begun.mask(), rowsFrom);
        } else {
            targetRows = placeRows(routing, begun, rowsFrom, firstRows);
        }
        // The NIC sends while this thread stores.
        post(routing, targetRows, passedBy, begun);
        send(routing, targetRows, begun.mask());
        passed.passOn(begun, firstRows, mode.copies(), deadline);
        mode.advance(begun, Counter.HT_DATA, r -> !state.peers().isPostedTo(r));
        receive(begun, rowsFrom, deadline);
        int[] placed = firstRows;
        HighThroughputHandle handle =
                cached.orElseGet(() -> unpackRouting(routing, targetRows, placed, rowsFrom, begun.number()));
        return deliver(handle, rowsFrom, begun.number());
    }

    /**
     * Reads the records of all rows once these are here; those of this rank's own rows first, while others are still sending. Rows of other
     * ranks may come through a relay, whose counter alone says that they are here, so that all counters are awaited before.
     */
    private void receive(HighThroughput.Begun begun, int[] rowsFrom, Deadline deadline) {
        HostMemory local = state.peers().local();
        int me = state.rank();
        int[] first = new int[state.ranks() + 1];
        for (int source = 0; source < state.ranks(); source++) {
            first[source + 1] = first[source] + rowsFrom[source];
        }
        ReceivedRecords records = mode.records();
        records.begin(first[state.ranks()], scales);
        records.read(local, first[me], rowsFrom[me]);
        mode.awaitAll(begun, Counter.HT_DATA, deadline, "dispatch rows");
        for (int source = 0; source < state.ranks(); source++) {
            if (begun.mask().has(source)) {
                int rows = rowsFrom[source];
                int from = first[source];
                cached.ifPresent(handle -> records.clear(handle, from, rows));
            } else if (source != me) {
                records.read(local, first[source], rowsFrom[source]);
            }
        }
    }

    private Routing readRouting() {
        Tensor ids = request.topkIds().orElseThrow();
        return Routing.of(
                ids,
                state.views().of(ids),
                tokens,
                state.shape(),
                state.placement(),
                state.waits().mask());
    }

    /** From all ranks' counts: the row of every token on every target, and this rank's rows from every source. */
    private int[] placeRows(Routing routing, HighThroughput.Begun begun, int[] rowsFrom, int[] firstRows) {
        int ranks = state.ranks();
        int me = state.rank();
        int[] next = new int[ranks];
        long[] total = new long[ranks];
        for (int source = 0; source < ranks; source++) {
            if (begun.mask().has(source)) {
                continue;
            }
            int[] rows = mode.ofRanks(source, begun.number());
            rowsFrom[source] = rows[me];
            for (int target = 0; target < ranks; target++) {
                firstRows[source * ranks + target] = (int) total[target];
                if (source == me) {
                    next[target] = (int) total[target];
                }
                total[target] += rows[target];
            }
        }
        long capacity = state.shape().receiveCapacity(ranks);
        for (int target = 0; target < ranks; target++) {
            if (total[target] > capacity) {
                throw new EpOverflowException("rank " + target + " would receive " + total[target]
                        + " rows, its buffer holds maxReceivedTokens = " + capacity
                        + "; no row was sent; raise maxReceivedTokens (0 can never overflow) or balance the routing");
            }
        }
        int[] targetRows = new int[routing.targets().length];
        for (int i = 0; i < targetRows.length; i++) {
            targetRows[i] = next[routing.targets()[i]]++;
        }
        return targetRows;
    }

    /** Rows of a rank that was masked since the routing was made keep their places, as zeros. */
    private void countCachedRows(HighThroughputHandle handle, Mask mask, int[] rowsFrom) {
        HostMemory local = state.peers().local();
        for (int row = 0; row < handle.received(); row++) {
            int source = handle.sourceRanks()[row];
            rowsFrom[source]++;
            if (mask.has(source)) {
                local.zero(layout.rows() + row * rowBytes, rowBytes);
            }
        }
    }

    private void send(Routing routing, int[] targetRows, Mask mask) {
        int[] record = new int[1 + 2 * topK + scales];
        int[] owners = new int[topK];
        int[] locals = new int[topK];
        RowCopies copies = mode.copies();
        long rows = 0;
        for (int r = 0; r < state.ranks(); r++) {
            rows += mask.has(r) || state.peers().isPostedTo(r) ? 0 : routing.rowsTo()[r];
        }
        copies.begin(rows * rowBytes);
        SentRecords records = mode.sentRecords();
        records.begin(scales);
        for (int t = 0; t < tokens; t++) {
            int first = routing.firstTarget()[t];
            int end = routing.firstTarget()[t + 1];
            if (first == end) {
                continue;
            }
            fillRecord(record, t);
            for (int k = 0; k < topK; k++) {
                int id = routing.ids()[t * topK + k];
                owners[k] = id < 0 ? -1 : state.placement().rankOf(id);
                locals[k] = id < 0 ? -1 : state.placement().localIndex(id);
            }
            for (int i = first; i < end; i++) {
                int target = routing.targets()[i];
                if (mask.has(target) || state.peers().isPostedTo(target)) {
                    continue;
                }
                for (int k = 0; k < topK; k++) {
                    record[1 + k] = owners[k] == target ? locals[k] : -1;
                }
                HostMemory memory = state.peers().memory(target);
                copies.add(memory, layout.rows() + targetRows[i] * rowBytes, x, t * rowBytes, rowBytes);
                records.add(target, memory, targetRows[i], record);
            }
        }
        for (int r = 0; r < state.ranks(); r++) {
            if (!mask.has(r) && !state.peers().isPostedTo(r)) {
                records.write(r, state.peers().memory(r));
            }
        }
        copies.finish();
    }

    /** One target after the other, since its rows are neighbours and go in few large writes. */
    private void post(Routing routing, int[] targetRows, int[] passedBy, HighThroughput.Begun begun) {
        Peers<HostMemory> peers = state.peers();
        for (int next = 1; next < state.ranks(); next++) {
            // Not all ranks at the same target at the same time.
            int target = (state.rank() + next) % state.ranks();
            if (begun.mask().has(target) || !peers.isPostedTo(target)) {
                continue;
            }
            if (passedBy[target] > 0) {
                passed.post(target, routing, x, this::fillRecord);
            }
            if (!passed.isPassed(target)) {
                postRows(target, routing, targetRows);
            }
            peers.advance(target, Counter.HT_DATA, begun.number());
        }
    }

    private void postRows(int target, Routing routing, int[] targetRows) {
        Peers<HostMemory> peers = state.peers();
        int[] record = new int[1 + 2 * topK + scales];
        routing.forEachTo(target, (t, i) -> {
            long place = peers.place(target, layout.rows() + targetRows[i] * rowBytes, rowBytes);
            peers.through(target).copy(place, x, t * rowBytes, rowBytes);
        });
        routing.forEachTo(target, (t, i) -> {
            fillRecord(record, t);
            fillIds(record, routing, t, target);
            long place = peers.place(target, layout.record(targetRows[i], scales), layout.recordBytes(scales));
            peers.through(target).putInts(place, record, 0, record.length);
        });
    }

    private void fillRecord(int[] record, int token) {
        record[0] = token;
        if (weights.isPresent()) {
            weights.get().getInts(4L * token * topK, record, 1 + topK, topK);
        }
        if (xScales.isPresent()) {
            xScales.get().getInts(4L * token * scales, record, 1 + 2 * topK, scales);
        }
    }

    private void fillIds(int[] record, Routing routing, int token, int target) {
        for (int k = 0; k < topK; k++) {
            record[1 + k] = state.localIndex(routing.ids()[token * topK + k], target);
        }
    }

    private HighThroughputHandle unpackRouting(
            Routing routing, int[] targetRows, int[] firstRows, int[] rowsFrom, long number) {
        int received = Arrays.stream(rowsFrom).sum();
        int[] sourceRanks = new int[received];
        int[] sourceTokens = new int[received];
        int[] localIds = new int[received * topK];
        int[] expertRows = new int[state.localExperts()];
        int row = 0;
        ReceivedRecords records = mode.records();
        for (int source = 0; source < rowsFrom.length; source++) {
            for (int i = 0; i < rowsFrom[source]; i++, row++) {
                sourceRanks[row] = source;
                sourceTokens[row] = records.token(row);
            }
        }
        records.readExperts(received, localIds, expertRows);
        int alignment = request.expertAlignment();
        long[] offsets = new long[expertRows.length + 1];
        for (int e = 0; e < expertRows.length; e++) {
            offsets[e + 1] = offsets[e] + (expertRows[e] + alignment - 1L) / alignment * alignment;
        }
        boolean byExpert = request.layout() == RowLayout.BY_EXPERT;
        int[] expanded = new int[byExpert ? localIds.length : 0];
        long[] next = offsets.clone();
        for (int i = 0; i < expanded.length; i++) {
            expanded[i] = localIds[i] < 0 ? -1 : (int) next[localIds[i]]++;
        }
        return new HighThroughputHandle(
                mode,
                number,
                routing,
                targetRows,
                firstRows,
                received,
                sourceRanks,
                sourceTokens,
                localIds,
                expanded,
                request.layout(),
                byExpert ? offsets[offsets.length - 1] : received,
                expertRows,
                offsets,
                alignment);
    }

    private HighThroughputResult deliver(HighThroughputHandle handle, int[] rowsFrom, long number) {
        long rows = request.exactCounts() ? handle.rows() : worstRows;
        HostState.Region region = state.highThroughput();
        HostMemory memory = region.access();
        LocalLayout local = state.layout();
        if (request.out().isPresent() && request.out().get().dim(0) < handle.rows()) {
            throw new EpOverflowException("out holds " + request.out().get().dim(0) + " rows, " + handle.rows()
                    + " rows arrived; the exchange itself is done on all ranks; pass a larger tensor to the next dispatch,"
                    + " at most " + worstRows + " rows can arrive");
        }
        memory.putInts(local.offset(ROWS_PER_EXPERT), handle.expertRows(), 0, handle.expertRows().length);
        for (int e = 0; e < handle.expertOffsets().length; e++) {
            memory.putLong(local.offset(EXPERT_OFFSETS) + 8L * e, handle.expertOffsets()[e]);
        }
        int[] perSource = handle.byExpert() ? selectionsFrom(handle) : rowsFrom;
        memory.putInts(local.offset(ROWS_PER_SOURCE), perSource, 0, perSource.length);
        Tensor rowTensor = handle.byExpert() ? expand(handle, rows) : deliverRows(handle, rows);
        return new HighThroughputResult(
                mode,
                handle,
                number,
                rowTensor,
                rows,
                scales,
                weights.isPresent(),
                handle.routing().idType());
    }

    private int[] selectionsFrom(HighThroughputHandle handle) {
        int[] selections = new int[state.ranks()];
        for (int i = 0; i < handle.localIds().length; i++) {
            if (handle.localIds()[i] >= 0) {
                selections[handle.sourceRanks()[i / topK]]++;
            }
        }
        return selections;
    }

    /** By rank: rows stay where their senders put them, unless the caller wants them elsewhere. */
    private Tensor deliverRows(HighThroughputHandle handle, long rows) {
        HostMemory symmetric = state.peers().local();
        HostMemory memory = state.highThroughput().access();
        LocalLayout local = state.layout();
        boolean wide = handle.routing().idType() == DataType.INT64;
        ReceivedRecords records = mode.records();
        records.writeExperts(memory, local.offset(TOPK_IDS), handle.localIds(), wide);
        records.writeWeights(memory, local.offset(TOPK_WEIGHTS), handle.received());
        for (int row = 0; row < handle.received() && scales > 0; row++) {
            records.writeScales(memory, local.offset(SCALES) + 4L * row * scales, row);
        }
        memory.putInts(local.offset(SOURCE_RANKS), handle.sourceRanks(), 0, handle.received());
        memory.putInts(local.offset(SOURCE_TOKENS), handle.sourceTokens(), 0, handle.received());
        clearTail(handle.received(), rows, wide);
        Tensor inPlace = new HostState.Region(state.symmetric(), symmetric)
                .tensor(layout.rows(), request.x().type(), rows, state.shape().hidden());
        return request.out()
                .map(out -> {
                    HostMemory target = state.views().of(out);
                    RowCopies copies = mode.copies();
                    long bytes = handle.received() * rowBytes;
                    copies.begin(bytes);
                    copies.add(target, 0, symmetric, layout.rows(), bytes);
                    copies.finish();
                    return Tensor.of(
                            out.memory(), out.type(), rows, state.shape().hidden());
                })
                .orElse(inPlace);
    }

    private void clearTail(long from, long to, boolean wide) {
        HostMemory memory = state.highThroughput().access();
        LocalLayout local = state.layout();
        for (long row = from; row < to; row++) {
            for (int k = 0; k < topK; k++) {
                long i = row * topK + k;
                if (wide) {
                    memory.putLong(local.offset(TOPK_IDS) + 8 * i, -1);
                } else {
                    memory.putInt(local.offset(TOPK_IDS) + 4 * i, -1);
                }
                memory.putInt(local.offset(TOPK_WEIGHTS) + 4 * i, 0);
            }
            memory.putInt(local.offset(SOURCE_RANKS) + 4 * row, -1);
            memory.putInt(local.offset(SOURCE_TOKENS) + 4 * row, -1);
        }
    }

    private Tensor expand(HighThroughputHandle handle, long rows) {
        HostMemory symmetric = state.peers().local();
        HostMemory memory = state.highThroughput().access();
        LocalLayout local = state.layout();
        HostMemory target = request.out().map(state.views()::of).orElse(memory);
        long base = request.out().isPresent() ? 0 : local.offset(EXPANDED);
        int[] ranks = new int[Math.toIntExact(rows)];
        int[] sources = new int[ranks.length];
        int[] rowWeights = new int[ranks.length];
        Arrays.fill(ranks, -1);
        Arrays.fill(sources, -1);
        RowCopies copies = mode.copies();
        copies.begin(Arrays.stream(handle.expertRows()).asLongStream().sum() * rowBytes);
        ReceivedRecords records = mode.records();
        for (int row = 0; row < handle.received(); row++) {
            for (int k = 0; k < topK; k++) {
                int to = handle.expandedRows()[row * topK + k];
                if (to < 0) {
                    continue;
                }
                copies.add(target, base + to * rowBytes, symmetric, layout.rows() + row * rowBytes, rowBytes);
                if (scales > 0) {
                    records.writeScales(memory, local.offset(EXPANDED_SCALES) + 4L * to * scales, row);
                }
                rowWeights[to] = records.weight(row, k);
                ranks[to] = handle.sourceRanks()[row];
                sources[to] = handle.sourceTokens()[row];
            }
        }
        memory.putInts(local.offset(SOURCE_RANKS), ranks, 0, ranks.length);
        memory.putInts(local.offset(SOURCE_TOKENS), sources, 0, ranks.length);
        memory.putInts(local.offset(TOPK_WEIGHTS), rowWeights, 0, ranks.length);
        copies.finish();
        if (request.zeroPadding()) {
            zeroPadding(handle, target, base);
        }
        return request.out()
                .map(out ->
                        Tensor.of(out.memory(), out.type(), rows, state.shape().hidden()))
                .orElseGet(() -> state.highThroughput()
                        .tensor(base, request.x().type(), rows, state.shape().hidden()));
    }

    private void zeroPadding(HighThroughputHandle handle, HostMemory target, long base) {
        long scaleBase = state.layout().offset(EXPANDED_SCALES);
        for (int e = 0; e < handle.expertRows().length; e++) {
            long from = handle.expertOffsets()[e] + handle.expertRows()[e];
            long rows = handle.expertOffsets()[e + 1] - from;
            target.zero(base + from * rowBytes, rows * rowBytes);
            state.highThroughput().access().zero(scaleBase + from * 4 * scales, rows * 4 * scales);
        }
    }
}
