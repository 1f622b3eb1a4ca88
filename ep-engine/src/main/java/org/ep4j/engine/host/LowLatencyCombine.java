package org.ep4j.engine.host;

import static org.ep4j.engine.layout.LocalLayout.LowLatency.COMBINED;

import java.util.Arrays;
import java.util.Optional;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.EpEvent;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.engine.buffer.EngineHandle;
import org.ep4j.engine.buffer.LowLatencyResults;
import org.ep4j.engine.buffer.RequestTensors;
import org.ep4j.engine.numeric.LogFmt;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.ReceiveHook;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

/**
 * One low-latency combine. Send: the row of every selection, or one partial sum for each (token, rank), goes to its slot on
 * the token's rank. Receive: slots are added up in top-k order.
 */
final class LowLatencyCombine extends Operation implements LowLatencyResults.CombineSource {
    private final LowLatency mode;
    private final LowLatency.CreditedFlow flow;
    private final LowLatencyCombineRequest request;
    private final OpOptions options;
    private final LowLatencyHandleImpl handle;
    private final LowLatencyRouting routing;
    private final Routing sent;
    private final HostMemory x;
    private final Optional<HostMemory> weightMemory;
    private final Optional<HostMemory> waitStatistics;
    private final RowSum sum;
    private final LogFmt logFmt;
    private final int hidden;
    private final boolean exact;
    private final boolean isCoded;
    private int[] ownRows = {};
    private final int[] ranges;
    private final int[] packed;
    private final byte[] coded;

    LowLatencyCombine(LowLatency mode, LowLatencyCombineRequest request, OpOptions options, RowSum sum) {
        super(mode.state);
        this.mode = mode;
        this.flow = mode.combines;
        this.request = request;
        this.options = options;
        isCoded = request.format() == WireFormat.LOGFMT10;
        this.sum = sum;
        handle = EngineHandle.own(request.handle(), LowLatencyHandleImpl.class, mode);
        EpShape shape = state.shape();
        hidden = shape.hidden();
        state.checks().lowLatencyCombine(request, handle.tokens(), handle.weighted);
        x = state.views().of(request.x());
        weightMemory = request.topkWeights().map(state.views()::of);
        waitStatistics = request.waitStats().map(state.views()::of);
        exact = request.precision() == CombinePrecision.EXACT;
        logFmt = new LogFmt(hidden);
        ranges = new int[isCoded ? shape.scales() : 0];
        packed = new int[isCoded ? hidden / 2 : 0];
        coded = new byte[isCoded ? logFmt.maxBytes() : 0];
        routing = handle.retain();
        sent = routing.sent;
    }

    CombineResult result(EpEvent event) {
        return new LowLatencyResults.Combine(this, flow.validity(), new ReceiveHook(request.receiveHook()), event);
    }

    @Override
    void run(Deadline deadline) {
        send(deadline);
        if (!request.receiveHook()) {
            receive(deadline);
            flow.succeed();
        }
    }

    @Override
    public boolean isPending() {
        return mode.isPending(flow, number);
    }

    @Override
    public EpEvent receive() {
        return mode.receiveLater(this, RequestTensors.received(request), options, flow, this::receive, handle::release);
    }

    /** Without the hook x stays as it is until the rows are added up, so this rank's own need no slot. */
    private boolean ownRowsInPlace() {
        return exact && !isCoded && !request.receiveHook();
    }

    /** Options that all ranks announce alike. */
    private long agreed() {
        return (exact ? 0 : 1) | (isCoded ? 2 : 0);
    }

    /** Sends; the handle is retained until the end of the receiving half, {@link #receive}. */
    private void send(Deadline deadline) {
        try {
            Mask mask = state.waits().mask();
            handle.requireReceived();
            number = flow.begin(mask, deadline);
            mode.combining(handle.number);
            flow.sending(number, () -> sendAll(mask));
        } catch (RuntimeException | Error e) {
            handle.release();
            throw e;
        }
    }

    private void sendAll(Mask mask) {
        if (ownRowsInPlace()) {
            ownRows = mode.ownRows(sent.tokens * topK);
        }
        // The NIC sends while this thread stores; it reads rows from the caches.
        sum.begin(0);
        send(mask, true);
        long rows = isCoded ? 0 : storedRows(mask);
        sum.begin(rows);
        mode.copies.begin(rows * layout.rowBytes());
        send(mask, false);
        sum.finish();
        mode.copies.finish();
        for (int r = 0; r < state.ranks(); r++) {
            if (!mask.has(r)) {
                flow.sent(r, number, agreed(), 0, handle.number, mask);
            }
        }
    }

    /** Number of rows, or of sums of rows, that are stored in the memory of mapped ranks. */
    private long storedRows(Mask mask) {
        long rows = 0;
        for (int m = 0; m < routing.messages; m++) {
            int target = routing.sourceRanks[m];
            if (mask.has(target) || peers.isPostedTo(target) || (target == state.rank() && ownRowsInPlace())) {
                continue;
            }
            for (int k = 0; exact && k < topK; k++) {
                rows += routing.rows[m * topK + k] < 0 ? 0 : 1;
            }
            rows += exact ? 0 : 1;
        }
        return rows;
    }

    /** Sends to the peers that are posted to, or to the others. */
    private void send(Mask mask, boolean posted) {
        for (int m = 0; m < routing.messages; m++) {
            int target = routing.sourceRanks[m];
            if (mask.has(target) || peers.isPostedTo(target) != posted) {
                continue;
            }
            if (target == state.rank() && ownRowsInPlace()) {
                System.arraycopy(routing.rows, m * topK, ownRows, routing.sourceTokens[m] * topK, topK);
            } else {
                sendMessage(m, target);
            }
        }
    }

    private void sendMessage(int m, int target) {
        int token = routing.sourceTokens[m];
        int firstK = -1;
        for (int k = 0; k < topK; k++) {
            int i = m * topK + k;
            int row = routing.rows[i];
            if (row < 0) {
                continue;
            }
            long from = (long) row * layout.rowBytes();
            if (exact) {
                long slot = layout.combineSlot(number, token, k);
                if (isCoded) {
                    x.getInts(from, packed, 0, packed.length);
                    sendCoded(target, slot);
                } else {
                    mode.copyTo(target, placeRow(target, slot), x, from, layout.rowBytes());
                }
                continue;
            }
            if (firstK < 0) {
                firstK = k;
                sum.clear();
            }
            sum.add(x, from, routing.messageWeights[i]);
        }
        if (firstK >= 0) {
            long slot = layout.combineSlot(number, token, firstK);
            if (isCoded) {
                sum.store(packed);
                sendCoded(target, slot);
            } else {
                sum.store(peers.through(target), placeRow(target, slot));
                if (peers.isPostedTo(target)) {
                    // Placing the next sum posts this one, so each of these sums is a call of its own.
                    sum.finish();
                }
            }
        }
    }

    private long placeRow(int target, long slot) {
        return peers.place(target, slot + layout.combineSlotHead(), layout.rowBytes());
    }

    private void sendCoded(int target, long slot) {
        int bytes = logFmt.encode(packed, ranges, coded);
        long place = peers.place(target, slot, layout.combineSlotHead() + bytes);
        HostMemory memory = peers.through(target);
        memory.putInts(place, ranges, 0, ranges.length);
        memory.putBytes(place + layout.combineSlotHead(), coded, 0, bytes);
    }

    /** Receives; the bank is free for the second-next combine afterwards. */
    private void receive(Deadline deadline) {
        try {
            Mask mask = state.waits().mask();
            long[] waited = mode.waited();
            for (int r = 0; r < state.ranks(); r++) {
                if (!mask.has(r)) {
                    flow.await(r, number, agreed(), handle.number, mask, deadline, waited);
                }
            }
            reduce(mask, state.views().of(out()));
            waitStatistics.ifPresent(mode::addWaited);
        } finally {
            handle.release();
            flow.release(number);
        }
    }

    private void reduce(Mask mask, HostMemory sums) {
        HostMemory local = peers.local();
        int[] lastToken = new int[state.ranks()];
        Arrays.fill(lastToken, -1);
        LogFmt.Sum values = new LogFmt.Sum(isCoded ? hidden : 0);
        float[] decoded = new float[isCoded ? hidden : 0];
        sum.begin(sent.tokens);
        for (int t = 0; t < sent.tokens; t++) {
            sum.clear();
            values.clear();
            for (int k = 0; k < topK; k++) {
                int id = sent.ids[t * topK + k];
                int owner = id < 0 ? -1 : state.placement().rankOf(id);
                if (id < 0 || mask.has(owner) || (!exact && lastToken[owner] == t)) {
                    continue;
                }
                lastToken[owner] = t;
                if (isCoded) {
                    readCoded(local, layout.combineSlot(number, t, k), decoded);
                    addDecoded(values, decoded, t * topK + k);
                } else {
                    addRow(local, t, k, owner);
                }
            }
            if (isCoded) {
                values.store(sums, t * layout.rowBytes());
            } else {
                sum.store(sums, t * layout.rowBytes());
            }
        }
        sum.finish();
    }

    private void addDecoded(LogFmt.Sum values, float[] decoded, int selection) {
        if (exact) {
            values.add(decoded, weight(selection));
        } else {
            values.add(decoded);
        }
    }

    private void addRow(HostMemory local, int token, int k, int owner) {
        int selection = token * topK + k;
        long slot = layout.combineSlot(number, token, k) + layout.combineSlotHead();
        if (!exact) {
            sum.add(local, slot);
        } else if (owner == state.rank() && ownRowsInPlace()) {
            sum.add(x, ownRows[selection] * layout.rowBytes(), weight(selection));
        } else {
            sum.add(local, slot, weight(selection));
        }
    }

    private void readCoded(HostMemory local, long slot, float[] values) {
        local.getInts(slot, ranges, 0, ranges.length);
        local.getBytes(slot + layout.combineSlotHead(), coded, 0, logFmt.bytes(ranges));
        logFmt.decode(ranges, coded, values);
    }

    private float weight(int index) {
        if (weightMemory.isPresent()) {
            return weightMemory.get().getFloat(4L * index);
        }
        return handle.weighted ? routing.weights[index] : 0f;
    }

    @Override
    public Tensor out() {
        return request.out().orElseGet(() -> state.tensor(number, COMBINED, DataType.BF16, handle.tokens(), hidden));
    }
}
