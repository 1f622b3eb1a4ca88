package org.ep4j.engine.host;

import static org.ep4j.engine.layout.LocalLayout.LowLatency.COUNTS;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.RANGES;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.ROWS;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.SCALES;
import static org.ep4j.engine.layout.LocalLayout.LowLatency.SOURCE_TOKENS;

import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.engine.buffer.LowLatencyFormat;
import org.ep4j.engine.buffer.LowLatencyResults;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.buffer.RequestTensors;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.numeric.Fp8Rows;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.ReceiveHook;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/**
 * One low-latency dispatch. Send: one message for each (token, rank) into the next free slot of this rank's part of the
 * target's bank. Receive: messages are read by source rank and expanded into the packed rows of each expert.
 */
final class LowLatencyDispatch extends Operation implements LowLatencyResults.DispatchSource {
    private final LowLatency mode;
    private final LowLatency.CreditedFlow flow;
    private final LowLatencyDispatchRequest request;
    private final OpOptions options;
    private final LowLatencyFormat format;
    private final int tokens;
    private final int hidden;
    private final int scales;
    private final long wireRow;
    private final long expertRows;
    private final HostMemory x;
    private final Optional<HostMemory> weights;
    private final Optional<HostMemory> statistics;
    private final Optional<HostMemory> waitStatistics;
    private final int[] message;
    /** Absent until the dispatch has been sent; retained until it has been received. */
    private @Nullable LowLatencyHandleImpl handle;

    /** Checks all that can be checked without reading device contents. */
    LowLatencyDispatch(LowLatency mode, LowLatencyDispatchRequest request, OpOptions options) {
        super(mode.state);
        this.mode = mode;
        this.flow = mode.dispatches;
        this.request = request;
        this.options = options;
        format = new LowLatencyFormat(request.format(), state.shape());
        hidden = state.shape().hidden();
        tokens = state.checks().lowLatencyDispatch(request);
        x = state.views().of(request.x());
        scales = format.fp8() ? state.shape().scales() : 0;
        wireRow = format.rowType().bytes(hidden);
        expertRows = ShapeSizes.lowLatencyRows(state.shape(), state.ranks());
        weights = request.topkWeights().map(state.views()::of);
        statistics = request.expertStats().map(state.views()::of);
        waitStatistics = request.waitStats().map(state.views()::of);
        message = new int[layout.messageScales() + scales];
    }

    LowLatencyDispatchResult result(EpEvent event) {
        return new LowLatencyResults.Dispatch(
                this, flow.validity(), state, request, format, new ReceiveHook(request.receiveHook()), event);
    }

    @Override
    public LowLatencyHandleImpl handle() {
        return Objects.requireNonNull(handle);
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
        return mode.receiveLater(
                this, RequestTensors.received(request), options, flow, this::receive, () -> handle().release());
    }

    /** Without the hook x stays as it is until the rows are unpacked, so this rank's own need no message. */
    private boolean ownRowsInPlace() {
        return !format.fp8() && !request.receiveHook();
    }

    private long agreed() {
        return format.code() | (weights.isPresent() ? 1 << 8 : 0);
    }

    /** Sends; the receiving half is {@link #receive}, for which the handle is retained. */
    private void send(Deadline deadline) {
        Mask mask = state.waits().mask();
        LowLatencyRouting fresh = mode.routings.take();
        try {
            mode.reader.read(request.topkIds(), state.views().of(request.topkIds()), tokens, mask, fresh.sent);
            checkDuplicates(fresh.sent);
            fresh.begin(weights.isPresent());
            number = flow.begin(mask, deadline);
        } catch (RuntimeException e) {
            mode.routings.add(fresh);
            throw e;
        }
        mode.dispatched(number);
        flow.sending(number, () -> sendAll(fresh, mask));
    }

    private void sendAll(LowLatencyRouting fresh, Mask mask) {
        int[] sent = new int[state.ranks()];
        mode.copies.begin(storedRows(fresh.sent, mask) * wireRow);
        for (int t = 0; t < tokens; t++) {
            message[0] = t;
            if (weights.isPresent()) {
                weights.get().getInts(4L * t * topK, message, 2 + topK, topK);
                for (int k = 0; k < topK; k++) {
                    fresh.weights[t * topK + k] = Float.intBitsToFloat(message[2 + topK + k]);
                }
            }
            sendToken(fresh.sent, t, sent);
        }
        mode.copies.finish();
        for (int r = 0; r < state.ranks(); r++) {
            if (!mask.has(r)) {
                flow.sent(r, number, agreed(), sent[r], 0, mask);
            }
        }
        LowLatencyHandleImpl made = new LowLatencyHandleImpl(mode, number, fresh, weights.isPresent());
        made.retain();
        handle = made;
    }

    /** Number of rows that are stored in the memory of mapped ranks. */
    private long storedRows(Routing routing, Mask mask) {
        long rows = 0;
        for (int r = 0; r < state.ranks(); r++) {
            boolean none = mask.has(r) || peers.isPostedTo(r) || (r == state.rank() && ownRowsInPlace());
            rows += none ? 0 : routing.rowsTo[r];
        }
        return rows;
    }

    /** Sends a token to its ranks, with a {@code message} that already holds all but ids and scales; counts what each rank is sent. */
    private void sendToken(Routing routing, int token, int[] sent) {
        HostMemory row = x;
        long rowAt = 2L * token * hidden;
        boolean staged = false;
        for (int i = routing.firstTarget[token]; i < routing.firstTarget[token + 1]; i++) {
            int target = routing.targets[i];
            for (int k = 0; k < topK; k++) {
                message[2 + k] = state.localIndex(routing.ids[token * topK + k], target);
            }
            boolean inPlace = target == state.rank() && ownRowsInPlace();
            HostMemory memory = peers.through(target);
            long bytes = layout.messageHead() + (inPlace ? 0 : wireRow);
            long slot = peers.place(target, layout.message(number, state.rank(), sent[target]++), bytes);
            long place = slot + layout.messageHead();
            if (format.fp8() && row == x) {
                // Cast into the memory of the first rank, and copied from there for the others.
                Fp8Rows cast = mode.fp8Rows;
                cast.cast(x, rowAt, memory, place, format.wire() != WireFormat.FP8);
                cast.scales().getInts(0, message, layout.messageScales(), scales);
                row = memory;
                rowAt = place;
                staged = peers.isPostedTo(target);
            } else if (staged) {
                // At once, since the next message to the rank that was first may reuse the staging buffer.
                memory.copy(place, row, rowAt, wireRow);
            } else if (!inPlace) {
                mode.copyTo(target, place, row, rowAt, wireRow);
            }
            memory.putInts(slot, message, 0, message.length);
        }
    }

    /** An expert has room for {@code maxLowLatencyTokens} rows of each rank, which only duplicates can exceed. */
    private void checkDuplicates(Routing routing) {
        int most = state.shape().maxLowLatencyTokens();
        int[] selections = mode.selections();
        for (int i = 0; i < tokens * topK; i++) {
            int id = routing.ids[i];
            if (id >= 0 && ++selections[id] > most) {
                throw duplicates(routing.ids, id, most);
            }
        }
    }

    /** There are at most {@code most} tokens, so one of them names the expert twice. */
    private EpArgumentException duplicates(int[] ids, int expert, int most) {
        int token = 0;
        while (Arrays.stream(ids, token * topK, (token + 1) * topK)
                        .filter(id -> id == expert)
                        .count()
                < 2) {
            token++;
        }
        return RequestChecks.duplicateIds(token, expert, most);
    }

    /** Receives; the bank is free for the second-next dispatch afterwards. */
    private void receive(Deadline deadline) {
        LowLatencyHandleImpl sent = handle();
        try {
            Mask mask = state.waits().mask();
            long[] waited = mode.waited();
            int[] next = mode.next();
            int[] before = mode.sourceFirst;
            Expansion expansion = new Expansion(sent.routing());
            HostMemory ranges = memory(request.outLayoutRanges());
            long firstRange = offset(request.outLayoutRanges(), RANGES);
            // About as many selections arrive as are sent.
            mode.copies.begin((long) tokens * topK * wireRow);
            for (int source = 0; source < state.ranks(); source++) {
                System.arraycopy(next, 0, before, 0, next.length);
                if (!mask.has(source)) {
                    int count = flow.await(source, number, agreed(), 0, mask, deadline, waited);
                    expansion.take(source, count, next);
                    mode.copies.finish();
                }
                for (int e = 0; e < next.length; e++) {
                    long range = ((long) before[e] << 32) | (next[e] - before[e]);
                    ranges.putLong(firstRange + 8L * ((long) e * state.ranks() + source), range);
                }
            }
            memory(request.outRowsPerExpert())
                    .putInts(offset(request.outRowsPerExpert(), COUNTS), next, 0, next.length);
            sent.received();
            statistics.ifPresent(s -> {
                for (int e = 0; e < next.length; e++) {
                    s.putInt(4L * e, s.getInt(4L * e) + next[e]);
                }
            });
            waitStatistics.ifPresent(mode::addWaited);
        } finally {
            sent.release();
            flow.release(number);
        }
    }

    /** Memory that a result is written to: of the caller's tensor, or of the operation's bank. */
    private HostMemory memory(Optional<Tensor> given) {
        return given.isPresent()
                ? state.views().of(given.get())
                : state.bank(number).access();
    }

    /** Where in {@link #memory} the result begins. */
    private long offset(Optional<Tensor> given, LocalLayout.LowLatency region) {
        return given.isPresent() ? 0 : state.layout().offset(region);
    }

    /** Fills the receiver's side of the routing while messages are unpacked. */
    private final class Expansion {
        private final LowLatencyRouting into;
        private final HostMemory rows;
        private final long rowsBase;
        private final HostMemory scaleMemory;
        private final long scalesBase;
        private final HostMemory tokenMemory;
        private final long tokensBase;

        Expansion(LowLatencyRouting into) {
            this.into = into;
            rows = memory(request.out());
            rowsBase = offset(request.out(), ROWS);
            scaleMemory = memory(request.outScales());
            scalesBase = offset(request.outScales(), SCALES);
            tokenMemory = memory(request.outSourceTokens());
            tokensBase = offset(request.outSourceTokens(), SOURCE_TOKENS);
        }

        void take(int source, int count, int[] next) {
            HostMemory symmetric = peers.local();
            boolean inPlace = source == state.rank() && ownRowsInPlace();
            into.beginMessages(count);
            int first = into.messages;
            int[] rowOf = into.rows;
            float[] messageWeights = into.messageWeights;
            for (int m = 0; m < count; m++) {
                long slot = layout.message(number, source, m);
                symmetric.getInts(slot, message, 0, message.length);
                into.sourceRanks[first + m] = source;
                into.sourceTokens[first + m] = message[0];
                for (int k = 0; k < topK; k++) {
                    int expert = message[2 + k];
                    int i = (first + m) * topK + k;
                    messageWeights[i] = Float.intBitsToFloat(message[2 + topK + k]);
                    if (expert < 0) {
                        rowOf[i] = -1;
                        continue;
                    }
                    long row = expert * expertRows + next[expert]++;
                    rowOf[i] = Math.toIntExact(row);
                    if (inPlace) {
                        mode.copies.add(rows, rowsBase + row * wireRow, x, message[0] * wireRow, wireRow);
                    } else {
                        long sent = slot + layout.messageHead();
                        mode.copies.add(rows, rowsBase + row * wireRow, symmetric, sent, wireRow);
                    }
                    tokenMemory.putInt(tokensBase + 4 * row, message[0]);
                    putScales(row);
                }
            }
            into.messages += count;
        }

        private void putScales(long row) {
            if (scales == 0) {
                return;
            }
            if (format.wire() != WireFormat.FP8_UE8M0) {
                scaleMemory.putInts(scalesBase + 4 * row * scales, message, layout.messageScales(), scales);
                return;
            }
            for (int s = 0; s < format.scaleCount(); s++) {
                int exponent = s < scales ? message[layout.messageScales() + s] >>> 23 : 0;
                scaleMemory.putByte(scalesBase + row * format.scaleCount() + s, (byte) exponent);
            }
        }
    }
}
