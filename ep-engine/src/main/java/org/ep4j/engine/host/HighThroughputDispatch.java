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
import java.util.Objects;
import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpEvent;
import org.ep4j.EpOverflowException;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.EngineHandle;
import org.ep4j.engine.buffer.HighThroughputResults;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.buffer.RowRoom;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.sync.Mask;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/**
 * One high-throughput dispatch: counts, then every row written once to its final place in the memory of each rank that
 * needs it, with a record of its ids, weights and scales; then the records are unpacked, and in the by-expert layout the
 * rows are expanded, in local memory.
 */
final class HighThroughputDispatch extends Operation implements HighThroughputResults.DispatchSource {
    private static final long FP8_FLAG = 1;
    private static final long WEIGHTS_FLAG = 2;
    private static final long FNUZ_FLAG = 4;
    private static final int[] NO_INTS = {};

    private final HighThroughput mode;
    private final DispatchRequest request;
    private final Optional<HighThroughputHandle> cached;
    private final Optional<HighThroughputRouting> cachedRouting;
    private final int tokens;
    private final int scales;
    private final long rowBytes;
    private final long worstRows;
    private final HostMemory x;
    private final Optional<HostMemory> xScales;
    private final Optional<HostMemory> weights;
    private final Optional<HostMemory> statistics;
    private final Optional<HostMemory> waitStatistics;
    private final RelayedRows relayed;
    /** Memory and layout of the results. */
    private final HostMemory results;

    private final LocalLayout local;
    /** Absent until the dispatch has succeeded. */
    private @Nullable HighThroughputHandle handle;

    private DeviceMemory symmetric;

    /** Checks all that can be checked without reading device contents. */
    HighThroughputDispatch(HighThroughput mode, DispatchRequest request) {
        super(mode.state);
        this.mode = mode;
        this.request = request;
        RequestChecks checks = state.checks();
        tokens = checks.dispatch(request);
        results = state.highThroughput().access();
        local = state.layout();
        x = state.views().of(request.x());
        scales = request.scales().isPresent() ? state.shape().scales() : 0;
        rowBytes = request.x().type().bytes(state.shape().hidden());
        xScales = request.scales().map(state.views()::of);
        weights = request.topkWeights().map(state.views()::of);
        statistics = request.expertStats().map(state.views()::of);
        waitStatistics = request.waitStats().map(state.views()::of);
        relayed = new RelayedRows(state, rowBytes, scales);
        cached = request.routing().map(known -> EngineHandle.own(known, HighThroughputHandle.class, mode));
        checks.dispatchTo(
                request,
                tokens,
                cached,
                cached.map(known -> known.idType)
                        .orElseGet(() -> request.topkIds().orElseThrow().type()));
        worstRows = checks.worstRows(
                request.layout(), cached.map(known -> known.alignment).orElse(request.expertAlignment()));
        symmetric = state.symmetric();
        cachedRouting = cached.map(HighThroughputHandle::retain);
    }

    DispatchResult result(EpEvent event) {
        return new HighThroughputResults.Dispatch(this, mode.dispatches, state, request, worstRows, event);
    }

    @Override
    public HighThroughputHandle handle() {
        return Objects.requireNonNull(handle);
    }

    @Override
    public DataType idType() {
        return handle().idType;
    }

    @Override
    public DeviceMemory symmetric() {
        return symmetric;
    }

    @Override
    public int[] hostRowsPerExpert() {
        long[] offsets = handle().routing().expertOffsets;
        int[] aligned = new int[offsets.length - 1];
        for (int e = 0; e < aligned.length; e++) {
            aligned[e] = (int) (offsets[e + 1] - offsets[e]);
        }
        // If the handle is closed, the next dispatch may have filled these meanwhile.
        mode.dispatches.check(number);
        return aligned;
    }

    @Override
    void run(Deadline deadline) {
        if (cachedRouting.isEmpty()) {
            exchange(readRouting(), deadline);
            return;
        }
        try {
            state.checks().room(request, worstRows);
            exchange(cachedRouting.get(), deadline);
        } finally {
            cached.ifPresent(HighThroughputHandle::release);
        }
    }

    private HighThroughputRouting readRouting() {
        state.checks().room(request, worstRows);
        HighThroughputRouting fresh = mode.routings.take();
        Tensor ids = request.topkIds().orElseThrow();
        try {
            mode.reader.read(ids, state.views().of(ids), tokens, state.waits().mask(), fresh.sent);
        } catch (RuntimeException e) {
            mode.routings.add(fresh);
            throw e;
        }
        return fresh;
    }

    private void exchange(HighThroughputRouting routing, Deadline deadline) {
        Routing sent = routing.sent;
        long flags = (scales > 0 ? FP8_FLAG : 0)
                | (weights.isPresent() ? WEIGHTS_FLAG : 0)
                | (request.x().type() == DataType.FP8_E4M3_FNUZ ? FNUZ_FLAG : 0);
        int[] relayedBy = relayed.counts(sent, state.waits().mask());
        HighThroughput.Begun begun = cached.isPresent()
                ? mode.begin(
                        HighThroughput.Kind.CACHED_DISPATCH,
                        flags,
                        cached.get().number,
                        0,
                        NO_INTS,
                        relayedBy,
                        deadline)
                : mode.begin(HighThroughput.Kind.DISPATCH, flags, 0, 0, sent.rowsTo, relayedBy, deadline);
        int[] rowsFrom = new int[state.ranks()];
        if (cached.isPresent()) {
            countCachedRows(routing, begun.mask(), rowsFrom);
        } else {
            placeRows(routing, begun, rowsFrom);
        }
        // The NIC sends while this thread stores.
        post(routing, relayedBy, begun);
        send(routing, begun.mask());
        relayed.forward(begun, routing.firstRows, mode.copies, deadline);
        mode.advance(begun, Counter.HT_DATA, r -> !peers.isPostedTo(r));
        receive(routing, begun, rowsFrom, deadline);
        HighThroughputHandle used = cached.orElseGet(() -> newHandle(routing, begun.number()));
        waitStatistics.ifPresent(begun::addWaited);
        statistics.ifPresent(s -> addSelections(s, routing.expertRows));
        deliver(used, routing, rowsFrom);
        number = begun.number();
        handle = used;
        symmetric = state.symmetric();
    }

    /**
     * Reads the records of all rows once these have arrived; those of this rank's own rows first, while others are still sending. Rows
     * may come through a relay, whose counter follows them, so all counters are awaited before the other records are read.
     */
    private void receive(HighThroughputRouting routing, HighThroughput.Begun begun, int[] rowsFrom, Deadline deadline) {
        int me = state.rank();
        int[] first = new int[state.ranks() + 1];
        for (int source = 0; source < state.ranks(); source++) {
            first[source + 1] = first[source] + rowsFrom[source];
        }
        ReceivedRecords records = mode.records;
        records.begin(first[state.ranks()], scales);
        if (cached.isEmpty()) {
            routing.beginReceived(first[state.ranks()]);
        }
        read(routing, me, first[me], rowsFrom[me]);
        mode.await(begun, Counter.HT_DATA, r -> true, deadline, "dispatch rows");
        for (int source = 0; source < state.ranks(); source++) {
            if (begun.mask().has(source)) {
                if (cached.isPresent()) {
                    records.clear(routing, first[source], rowsFrom[source]);
                }
            } else if (source != me) {
                read(routing, source, first[source], rowsFrom[source]);
            }
        }
    }

    private void read(HighThroughputRouting routing, int source, int firstRow, int rows) {
        if (cached.isPresent()) {
            mode.records.read(peers.local(), firstRow, rows);
        } else {
            mode.records.read(peers.local(), source, firstRow, rows, routing);
        }
    }

    /** Computes, from all ranks' counts, the row of every token on every target, and this rank's rows from every source. */
    private void placeRows(HighThroughputRouting routing, HighThroughput.Begun begun, int[] rowsFrom) {
        int ranks = state.ranks();
        int me = state.rank();
        int[] firstRows = routing.firstRows;
        Arrays.fill(firstRows, 0);
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
        long capacity = ShapeSizes.receivedRows(state.shape(), ranks);
        for (int target = 0; target < ranks; target++) {
            if (total[target] > capacity) {
                throw new EpOverflowException("rank " + target + " would receive " + total[target]
                        + " rows, but its buffer has room for only maxReceivedRows = " + capacity
                        + "; no row was sent; raise maxReceivedRows (0 can never overflow) or balance the routing");
            }
        }
        routing.beginTargets();
        int[] targetRows = routing.targetRows;
        int[] targets = routing.sent.targets;
        for (int i = 0; i < routing.sent.targetCount(); i++) {
            targetRows[i] = next[targets[i]]++;
        }
    }

    /** Rows of a rank that was masked since the routing was made keep their places, as zeros. */
    private void countCachedRows(HighThroughputRouting routing, Mask mask, int[] rowsFrom) {
        for (int row = 0; row < routing.received; row++) {
            int source = routing.sourceRanks[row];
            rowsFrom[source]++;
            if (mask.has(source)) {
                peers.local().zero(layout.rows() + row * rowBytes, rowBytes);
            }
        }
    }

    private void send(HighThroughputRouting routing, Mask mask) {
        Routing sent = routing.sent;
        int[] firstTarget = sent.firstTarget;
        int[] targets = sent.targets;
        int[] targetRows = routing.targetRows;
        boolean[] stored = new boolean[state.ranks()];
        long rows = 0;
        for (int r = 0; r < state.ranks(); r++) {
            stored[r] = !mask.has(r) && !peers.isPostedTo(r);
            rows += stored[r] ? sent.rowsTo[r] : 0;
        }
        RowCopies copies = mode.copies;
        copies.begin(rows * rowBytes);
        SentRecords records = mode.sentRecords;
        records.begin(tokens, sent.ids, weights, xScales, scales);
        for (int t = 0; t < tokens; t++) {
            if (firstTarget[t] == firstTarget[t + 1]) {
                continue;
            }
            records.token(t);
            for (int i = firstTarget[t]; i < firstTarget[t + 1]; i++) {
                int target = targets[i];
                if (stored[target]) {
                    HostMemory memory = peers.memory(target);
                    copies.add(memory, layout.rows() + targetRows[i] * rowBytes, x, t * rowBytes, rowBytes);
                    records.add(target, memory, targetRows[i]);
                }
            }
        }
        for (int r = 0; r < state.ranks(); r++) {
            if (stored[r]) {
                records.write(r, peers.memory(r));
            }
        }
        copies.finish();
    }

    /** One target after the other, since its rows are neighbours and go in few large writes. */
    private void post(HighThroughputRouting routing, int[] relayedBy, HighThroughput.Begun begun) {
        for (int next = 1; next < state.ranks(); next++) {
            // Ranks begin with different targets.
            int target = (state.rank() + next) % state.ranks();
            if (begun.mask().has(target) || !peers.isPostedTo(target)) {
                continue;
            }
            if (relayedBy[target] > 0) {
                relayed.post(target, routing.sent, x, this::fillRecord);
            }
            if (!relayed.isRelayed(target)) {
                postRows(target, routing.sent, routing.targetRows);
            }
            peers.advance(target, Counter.HT_DATA, begun.number());
        }
    }

    private void postRows(int target, Routing routing, int[] targetRows) {
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
            record[1 + k] = state.localIndex(routing.ids[token * topK + k], target);
        }
    }

    private HighThroughputHandle newHandle(HighThroughputRouting routing, long number) {
        mode.records.countExperts(routing.expertRows);
        int alignment = request.expertAlignment();
        int[] expertRows = routing.expertRows;
        long[] offsets = routing.expertOffsets;
        for (int e = 0; e < expertRows.length; e++) {
            offsets[e + 1] = offsets[e] + (expertRows[e] + alignment - 1L) / alignment * alignment;
        }
        if (request.layout() == RowLayout.BY_EXPERT) {
            routing.beginExpanded();
            int[] localIds = routing.localIds;
            int[] expanded = routing.expandedRows;
            long[] next = offsets.clone();
            for (int i = 0; i < routing.received * topK; i++) {
                expanded[i] = localIds[i] < 0 ? -1 : (int) next[localIds[i]]++;
            }
        }
        return new HighThroughputHandle(mode, number, routing, request.layout(), alignment);
    }

    private static void addSelections(HostMemory statistics, int[] expertRows) {
        for (int e = 0; e < expertRows.length; e++) {
            statistics.putInt(4L * e, statistics.getInt(4L * e) + expertRows[e]);
        }
    }

    private void deliver(HighThroughputHandle used, HighThroughputRouting routing, int[] rowsFrom) {
        long rows = request.worstCase() ? worstRows : used.rows();
        long room = RowRoom.of(request);
        if (room < used.rows()) {
            throw new EpOverflowException("the smallest of the tensors given for the rows, out and the like, holds "
                    + room + " rows, but " + used.rows()
                    + " rows arrived; the exchange itself is complete on all ranks; pass a larger "
                    + RowRoom.smallest(request) + " to the next dispatch (at most " + worstRows
                    + " rows can arrive)");
        }
        memory(request.outRowsPerExpert())
                .putInts(
                        offset(request.outRowsPerExpert(), ROWS_PER_EXPERT),
                        routing.expertRows,
                        0,
                        routing.expertRows.length);
        memory(request.outExpertOffsets())
                .putLongs(
                        offset(request.outExpertOffsets(), EXPERT_OFFSETS),
                        routing.expertOffsets,
                        0,
                        routing.expertOffsets.length);
        int[] perSource = used.byExpert() ? selectionsFrom(routing) : rowsFrom;
        memory(request.outRowsPerSource())
                .putInts(offset(request.outRowsPerSource(), ROWS_PER_SOURCE), perSource, 0, perSource.length);
        if (used.byExpert()) {
            expand(routing, rows);
        } else {
            deliverRows(routing, rows);
        }
    }

    /** Memory that a result is written to: of the caller's tensor, or of the buffer. */
    private HostMemory memory(Optional<Tensor> given) {
        return given.isPresent() ? state.views().of(given.get()) : results;
    }

    /** Where in {@link #memory} the result begins. */
    private long offset(Optional<Tensor> given, LocalLayout.HighThroughput region) {
        return given.isPresent() ? 0 : local.offset(region);
    }

    private int[] selectionsFrom(HighThroughputRouting routing) {
        int[] selections = new int[state.ranks()];
        for (int i = 0; i < routing.received * topK; i++) {
            if (routing.localIds[i] >= 0) {
                selections[routing.sourceRanks[i / topK]]++;
            }
        }
        return selections;
    }

    /** By rank: rows stay where their senders put them, unless the caller wants them elsewhere. */
    private void deliverRows(HighThroughputRouting routing, long rows) {
        boolean wide = routing.sent.idType == DataType.INT64;
        ReceivedRecords records = mode.records;
        records.writeExperts(
                memory(request.outTopkIds()),
                offset(request.outTopkIds(), TOPK_IDS),
                routing.localIds,
                routing.received * topK,
                wide);
        records.writeWeights(
                memory(request.outTopkWeights()), offset(request.outTopkWeights(), TOPK_WEIGHTS), routing.received);
        HostMemory scaleMemory = memory(request.outScales());
        long scaleBase = offset(request.outScales(), SCALES);
        for (int row = 0; row < routing.received && scales > 0; row++) {
            records.writeScales(scaleMemory, scaleBase + 4L * row * scales, row);
        }
        memory(request.outSourceRanks())
                .putInts(offset(request.outSourceRanks(), SOURCE_RANKS), routing.sourceRanks, 0, routing.received);
        memory(request.outSourceTokens())
                .putInts(offset(request.outSourceTokens(), SOURCE_TOKENS), routing.sourceTokens, 0, routing.received);
        clearTail(routing.received, rows, wide);
        if (request.out().isPresent()) {
            HostMemory target = state.views().of(request.out().get());
            RowCopies copies = mode.copies;
            long bytes = routing.received * rowBytes;
            copies.begin(bytes);
            copies.add(target, 0, peers.local(), layout.rows(), bytes);
            copies.finish();
        }
    }

    private void clearTail(long from, long to, boolean wide) {
        HostMemory ids = memory(request.outTopkIds());
        HostMemory weightMemory = memory(request.outTopkWeights());
        HostMemory ranks = memory(request.outSourceRanks());
        HostMemory sourceTokens = memory(request.outSourceTokens());
        long firstId = offset(request.outTopkIds(), TOPK_IDS);
        long firstWeight = offset(request.outTopkWeights(), TOPK_WEIGHTS);
        long firstRank = offset(request.outSourceRanks(), SOURCE_RANKS);
        long firstToken = offset(request.outSourceTokens(), SOURCE_TOKENS);
        for (long row = from; row < to; row++) {
            for (int k = 0; k < topK; k++) {
                long i = row * topK + k;
                if (wide) {
                    ids.putLong(firstId + 8 * i, -1);
                } else {
                    ids.putInt(firstId + 4 * i, -1);
                }
                weightMemory.putInt(firstWeight + 4 * i, 0);
            }
            ranks.putInt(firstRank + 4 * row, -1);
            sourceTokens.putInt(firstToken + 4 * row, -1);
        }
    }

    private void expand(HighThroughputRouting routing, long rows) {
        HostMemory received = peers.local();
        HostMemory target = memory(request.out());
        long base = offset(request.out(), EXPANDED);
        HostMemory scaleMemory = memory(request.outScales());
        long scaleBase = offset(request.outScales(), EXPANDED_SCALES);
        RowCopies copies = mode.copies;
        copies.begin(Arrays.stream(routing.expertRows).asLongStream().sum() * rowBytes);
        ReceivedRecords records = mode.records;
        records.beginExpanded(Math.toIntExact(rows));
        for (int row = 0; row < routing.received; row++) {
            for (int k = 0; k < topK; k++) {
                int to = routing.expandedRows[row * topK + k];
                if (to < 0) {
                    continue;
                }
                copies.add(target, base + to * rowBytes, received, layout.rows() + row * rowBytes, rowBytes);
                if (scales > 0) {
                    records.writeScales(scaleMemory, scaleBase + 4L * to * scales, row);
                }
                records.expand(row, k, to, routing);
            }
        }
        records.writeExpandedRanks(memory(request.outSourceRanks()), offset(request.outSourceRanks(), SOURCE_RANKS));
        records.writeExpandedTokens(
                memory(request.outSourceTokens()), offset(request.outSourceTokens(), SOURCE_TOKENS));
        records.writeExpandedWeights(memory(request.outTopkWeights()), offset(request.outTopkWeights(), TOPK_WEIGHTS));
        copies.finish();
        if (request.zeroPadding()) {
            zeroPadding(routing, target, base, scaleMemory, scaleBase);
        }
    }

    private void zeroPadding(
            HighThroughputRouting routing, HostMemory target, long base, HostMemory scaleMemory, long scaleBase) {
        for (int e = 0; e < routing.expertRows.length; e++) {
            long from = routing.expertOffsets[e] + routing.expertRows[e];
            long rows = routing.expertOffsets[e + 1] - from;
            target.zero(base + from * rowBytes, rows * rowBytes);
            scaleMemory.zero(scaleBase + from * 4 * scales, rows * 4 * scales);
        }
    }
}
