package org.ep4j.engine.host;

import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.sync.Peers;
import org.ep4j.transport.memory.HostMemory;

/**
 * The rows of one high-throughput combine between ranks that cannot read each other's memory. The tokens' rank announces where in its
 * memory the rows of each such peer begin; the peer sends them there, in the order of its rows, which is the order of the tokens.
 */
final class ReturnedRows {
    private final HostState state;
    private final Peers<HostMemory> peers;
    private final BufferLayout layout;
    private final HighThroughputRouting routing;
    private final int[] starts;

    ReturnedRows(HostState state, HighThroughputRouting routing) {
        this.state = state;
        this.peers = state.peers();
        this.layout = peers.layout();
        this.routing = routing;
        starts = new int[layout.posted() ? state.ranks() : 0];
        int next = 0;
        for (int r = 0; r < starts.length; r++) {
            starts[r] = next;
            next += peers.isPostedTo(r) ? routing.sent.rowsTo[r] : 0;
        }
    }

    /** By rank: the index of its first row at this one; empty if all ranks are mapped. */
    int[] starts() {
        return starts;
    }

    /** Index of the returned row of each of the routing's targets; undefined for mapped targets, empty if all are mapped. */
    int[] indices() {
        if (starts.length == 0) {
            return starts;
        }
        int[] targets = routing.sent.targets;
        int[] indices = new int[routing.sent.targetCount()];
        int[] next = starts.clone();
        for (int i = 0; i < indices.length; i++) {
            indices[i] = next[targets[i]]++;
        }
        return indices;
    }

    /**
     * Sends rows and weights to every rank that cannot read this one's memory.
     *
     * @param input where the rows begin in this rank's symmetric memory; negative to send none
     * @param weights whether there are weights
     */
    void send(HighThroughput mode, HighThroughput.Begun begun, long input, boolean weights) {
        int first = 0;
        while (first < routing.received) {
            int source = routing.sourceRanks[first];
            int end = first;
            while (end < routing.received && routing.sourceRanks[end] == source) {
                end++;
            }
            if (peers.isPostedFrom(source) && !begun.mask().has(source)) {
                long at = mode.ofRanks(source, begun.number())[state.rank()];
                long rows = (long) end - first;
                if (input >= 0) {
                    long bytes = layout.rowBytes();
                    send(source, layout.returnedRow(at), input + first * bytes, rows * bytes);
                }
                if (weights) {
                    long bytes = 4L * state.shape().topK();
                    send(source, layout.returnedWeights(at), layout.combineWeights(first), rows * bytes);
                }
            }
            first = end;
        }
    }

    private void send(int peer, long to, long from, long bytes) {
        if (peers.isPostedTo(peer)) {
            peers.write(peer, to, from, bytes);
        } else {
            peers.memory(peer).copy(to, peers.local(), from, bytes);
        }
    }

    /** Waits until what was sent may be changed. */
    void finish(HighThroughput.Begun begun) {
        for (int r = 0; r < state.ranks(); r++) {
            if (!begun.mask().has(r)) {
                peers.drain(r);
            }
        }
    }
}
