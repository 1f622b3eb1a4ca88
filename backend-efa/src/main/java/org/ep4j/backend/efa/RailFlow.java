package org.ep4j.backend.efa;

import java.util.Arrays;

/**
 * The writes of a link that are under way on one of its rails: which slots they have, and whether one more may be. For one
 * thread at a time.
 */
final class RailFlow {
    /** Slots for writes without data, which must not wait for those with data. */
    static final int RESERVED = 8;

    /** Slots of these that records may not use either: a peer waits for what else is told. */
    private static final int LAST = 2;

    private final NicFlow nic;
    private final int burst;
    private final int[] free;
    private final int[] lengths;
    private int freeCount;
    private int posted;

    /**
     * Of one rail.
     *
     * @param nic shared with other links
     * @param slots for all that the NIC takes and {@link #RESERVED}
     * @param burst writes between two polls
     */
    RailFlow(NicFlow nic, int slots, int burst) {
        this.nic = nic;
        this.burst = burst;
        this.free = new int[slots];
        this.lengths = new int[slots];
        this.freeCount = slots;
        for (int i = 0; i < slots; i++) {
            free[i] = i;
        }
    }

    static int slots(int mostLarge, int mostSmall) {
        return mostLarge + mostSmall + RESERVED;
    }

    /** Takes a slot for a write of data; -1 where there is none. */
    int take(int length) {
        return posted >= burst || freeCount == 0 || !nic.take(length) ? -1 : slot(length);
    }

    /** Takes a slot for a record; -1 where there is none. */
    int takeForRecord() {
        return freeCount <= LAST ? -1 : slot(0);
    }

    /** Takes a slot for an immediate alone; -1 where there is none. */
    int takeBare() {
        return freeCount == 0 ? -1 : slot(0);
    }

    private int slot(int length) {
        int slot = free[--freeCount];
        lengths[slot] = length;
        posted++;
        return slot;
    }

    /** Gives the slot of a write back. */
    void give(int slot) {
        int length = lengths[slot];
        lengths[slot] = 0;
        free[freeCount++] = slot;
        if (length > 0) {
            nic.give(length);
        }
    }

    /** Lets others with rails on the NIC take in their completions. */
    void help(Link waiting) {
        nic.help(waiting);
    }

    /** A link begins to use the NIC. */
    void join(Link link) {
        nic.join(link);
    }

    /** Another burst may begin. */
    void polled() {
        posted = 0;
    }

    /** Writes under way. */
    int pending() {
        return free.length - freeCount;
    }

    /** Nothing of it is under way any more: other links get its part of the NIC. */
    void abandon() {
        for (int length : lengths) {
            if (length > 0) {
                nic.give(length);
            }
        }
        Arrays.fill(lengths, 0);
    }
}
