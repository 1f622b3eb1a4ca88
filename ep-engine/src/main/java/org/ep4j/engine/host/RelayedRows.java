package org.ep4j.engine.host;

import java.util.Arrays;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Relays;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

/**
 * The rows of one high-throughput dispatch that are posted to a domain once, see {@link Relays}. Their records have global expert
 * ids; the relay knows their final places from the counts of all ranks.
 */
final class RelayedRows {
    private final HostState state;
    private final Peers<HostMemory> peers;
    private final BufferLayout layout;
    private final Relays relays;
    private final int me;
    private final int topK;
    private final long rowBytes;
    private final int recordInts;
    private final int scales;

    /** By rank: the relay of what this rank sends to it; -1 if it is sent directly. */
    private final int[] relay;

    RelayedRows(HostState state, long rowBytes, int scales) {
        this.state = state;
        this.peers = state.peers();
        this.layout = peers.layout();
        this.relays = state.relays();
        this.me = state.rank();
        this.topK = state.shape().topK();
        this.rowBytes = rowBytes;
        this.scales = scales;
        this.recordInts = 1 + 2 * topK + scales;
        this.relay = new int[state.ranks()];
    }

    /** Begins; returns, for each rank, the number of tokens that it has to forward for this one. */
    int[] counts(Routing routing, Mask mask) {
        for (int r = 0; r < relay.length; r++) {
            relay[r] = mask.has(r) ? -1 : relays.relay(me, r, mask);
        }
        int[] counts = new int[state.ranks()];
        if (!relays.isPosted()) {
            return counts;
        }
        int[] last = new int[state.ranks()];
        Arrays.fill(last, -1);
        for (int t = 0; t < routing.tokens; t++) {
            for (int i = routing.firstTarget[t]; i < routing.firstTarget[t + 1]; i++) {
                int by = relay[routing.targets[i]];
                if (by >= 0 && last[by] != t) {
                    last[by] = t;
                    counts[by]++;
                }
            }
        }
        return counts;
    }

    /** Returns whether rows for {@code target} go to a relay, which may be {@code target} itself. */
    boolean isRelayed(int target) {
        return relay[target] >= 0;
    }

    /** Posts to relay {@code by} the rows that it forwards. */
    void post(int by, Routing routing, HostMemory x, RecordHead head) {
        long first = (long) relays.sourceIndex(me, by) * state.shape().maxTokens();
        int[] record = new int[recordInts];
        long row = first;
        for (int t = 0; t < routing.tokens; t++) {
            if (goesBy(by, routing, t)) {
                long place = peers.place(by, layout.relayedRow(row++, rowBytes), rowBytes);
                peers.through(by).copy(place, x, t * rowBytes, rowBytes);
            }
        }
        row = first;
        for (int t = 0; t < routing.tokens; t++) {
            if (goesBy(by, routing, t)) {
                head.fill(record, t);
                for (int k = 0; k < topK; k++) {
                    int id = routing.ids[t * topK + k];
                    record[1 + k] = id >= 0 && relay[state.placement().rankOf(id)] == by ? id : -1;
                }
                long place = peers.place(by, layout.relayedRecord(row++), layout.recordBytes());
                peers.through(by).putInts(place, record, 0, record.length);
            }
        }
    }

    /** Fills a record, except its ids. */
    interface RecordHead {
        void fill(int[] record, int token);
    }

    private boolean goesBy(int by, Routing routing, int token) {
        for (int i = routing.firstTarget[token]; i < routing.firstTarget[token + 1]; i++) {
            if (relay[routing.targets[i]] == by) {
                return true;
            }
        }
        return false;
    }

    /**
     * Waits for the rows that other domains sent to this relay and forwards them.
     *
     * @param firstRows {@code [R * R]}: first row of each source on each target
     * @param copies of the dispatch, with nothing pending
     */
    void forward(HighThroughput.Begun begun, int[] firstRows, RowCopies copies, Deadline deadline) {
        // Each token goes to one rank or more.
        copies.begin(Arrays.stream(begun.relayed()).sum() * rowBytes);
        for (int source = 0; source < state.ranks(); source++) {
            if (!begun.mask().has(source) && begun.relayed()[source] > 0) {
                begun.waited()[source] += state.waits()
                        .await(Counter.HT_DATA, source, begun.number(), deadline, "dispatch rows to pass on");
                forward(source, begun, firstRows, copies);
            }
        }
    }

    private void forward(int source, HighThroughput.Begun begun, int[] firstRows, RowCopies copies) {
        int[] next = Arrays.copyOfRange(firstRows, source * state.ranks(), (source + 1) * state.ranks());
        int[] record = new int[recordInts];
        int[] own = new int[recordInts];
        long row = (long) relays.sourceIndex(source, me) * state.shape().maxTokens();
        for (long end = row + begun.relayed()[source]; row < end; row++) {
            peers.local().getInts(layout.relayedRecord(row), record, 0, record.length);
            for (int k = 0; k < topK; k++) {
                int target = record[1 + k] < 0 ? -1 : state.placement().rankOf(record[1 + k]);
                if (target < 0 || isEarlier(record, k, target)) {
                    continue;
                }
                System.arraycopy(record, 0, own, 0, own.length);
                for (int j = 0; j < topK; j++) {
                    own[1 + j] = state.localIndex(record[1 + j], target);
                }
                HostMemory memory = peers.memory(target);
                copies.add(
                        memory,
                        layout.rows() + next[target] * rowBytes,
                        peers.local(),
                        layout.relayedRow(row, rowBytes),
                        rowBytes);
                memory.putInts(layout.record(next[target]++, scales), own, 0, own.length);
            }
        }
        copies.finish();
    }

    private boolean isEarlier(int[] record, int k, int target) {
        for (int j = 0; j < k; j++) {
            if (record[1 + j] >= 0 && state.placement().rankOf(record[1 + j]) == target) {
                return true;
            }
        }
        return false;
    }
}
