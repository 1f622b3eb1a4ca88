package org.ep4j.engine.sync;

import java.util.List;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.memory.Words;
import org.ep4j.plan.EpPlan;

/**
 * The symmetric memory of all ranks as this rank reaches it, and the counters in it.
 *
 * @param <W> how memory is reached
 */
public final class Peers<W extends Words> {
    private final int rank;
    private final EpPlan plan;
    private final BufferLayout layout;
    private final List<W> memory;

    /**
     * Over mapped memory.
     *
     * @param memory the symmetric memory of every rank, this one's among them
     */
    public Peers(EpPlan plan, int rank, BufferLayout layout, List<W> memory) {
        this.plan = plan;
        this.rank = rank;
        this.layout = layout;
        this.memory = List.copyOf(memory);
    }

    /** This rank. */
    public int rank() {
        return rank;
    }

    /** R. */
    public int ranks() {
        return memory.size();
    }

    /** Where everything lies. */
    public BufferLayout layout() {
        return layout;
    }

    /** The memory of {@code peer}. */
    public W memory(int peer) {
        return memory.get(peer);
    }

    /** This rank's own memory. */
    public W local() {
        return memory.get(rank);
    }

    /** Second half of a counted write: what was written to {@code peer} before is seen by whoever sees the counter. */
    public void advance(int peer, Counter counter, long value) {
        memory.get(peer).putLongRelease(layout.counter(counter, rank), value);
    }

    /** Value of {@code source}'s counter in this rank's memory. */
    public long seen(Counter counter, int source) {
        return local().getLongAcquire(layout.counter(counter, source));
    }

    /** Writes this rank's block at {@code peer}; the counter that goes with it is advanced afterwards. */
    public void writeBlock(int peer, Block block, long number, long[] words) {
        long offset = layout.block(block, number, rank);
        for (int i = 0; i < words.length; i++) {
            memory.get(peer).putLong(offset + 8L * i, words[i]);
        }
    }

    /** Reads the head of {@code source}'s block. */
    public long[] readBlock(Block block, long number, int source) {
        long offset = layout.block(block, number, source);
        long[] words = new long[BufferLayout.BLOCK_WORDS];
        for (int i = 0; i < words.length; i++) {
            words[i] = local().getLong(offset + 8L * i);
        }
        return words;
    }

    /** Who a rank is and how it is reached, for messages. */
    public String label(int peer) {
        return plan.profiles().get(peer).label() + " over "
                + plan.path(rank, peer).backend();
    }
}
