package org.ep4j.backend.efa;

import java.util.Arrays;
import org.ep4j.engine.collective.NicFlow;

/**
 * The writes of a link that are under way on one of its rails: which slots they have, and whether one more may be. For one
 * thread at a time.
 */
final class RailFlow {
    /** Bytes from which a write counts as large: it takes a provider so long that few at once keep it busy. */
    static final int LARGE = 64 << 10;

    /** Slots for writes without data, which must not wait for those with data. */
    static final int RESERVED = 8;

    /** Slots of these that records may not use either: a peer waits for what else is told. */
    private static final int LAST = 2;

    private final NicFlow nic;
    private final int mostLarge;
    private final int mostSmall;
    private final int burst;
    private final int[] free;
    private final int[] lengths;
    private final boolean[] messages;
    private int freeCount;
    private int large;
    private int small;
    private int posted;

    /**
     * Of one rail.
     *
     * @param nic shared with other links
     * @param mostLarge large writes at once
     * @param mostSmall small writes at once
     * @param burst writes between two polls
     */
    RailFlow(NicFlow nic, int mostLarge, int mostSmall, int burst) {
        this.nic = nic;
        this.mostLarge = mostLarge;
        this.mostSmall = mostSmall;
        this.burst = burst;
        int slots = slots(mostLarge, mostSmall);
        this.free = new int[slots];
        this.lengths = new int[slots];
        this.messages = new boolean[slots];
        this.freeCount = slots;
        for (int i = 0; i < slots; i++) {
            free[i] = i;
        }
    }

    static int slots(int mostLarge, int mostSmall) {
        return mostLarge + mostSmall + RESERVED;
    }

    /**
     * Takes a slot for a write of data; -1 where there is none.
     *
     * @param message whether it is of low latency, see {@link NicFlow#take}
     */
    int take(int length, boolean message) {
        boolean isLarge = length >= LARGE;
        if (freeCount == 0 || posted >= burst || (isLarge ? large >= mostLarge : small >= mostSmall)) {
            return -1;
        }
        if (!nic.take(length, message)) {
            // Other links may hold what they need no more.
            nic.progress();
            return -1;
        }
        if (isLarge) {
            large++;
        } else {
            small++;
        }
        return slot(length, message);
    }

    /** Adds the link of the writes to its NIC, see {@link NicFlow#add}. */
    void add(Runnable progress) {
        nic.add(progress);
    }

    /** Bytes of a write at most. */
    long longest() {
        return nic.longest();
    }

    /** Takes a slot for a record; -1 where there is none. */
    int takeForRecord() {
        return freeCount <= LAST ? -1 : slot(0, false);
    }

    /** Takes a slot for an immediate alone; -1 where there is none. */
    int takeBare() {
        return freeCount == 0 ? -1 : slot(0, false);
    }

    private int slot(int length, boolean message) {
        int slot = free[--freeCount];
        lengths[slot] = length;
        messages[slot] = message;
        posted++;
        return slot;
    }

    /** Gives the slot of a write back. */
    void give(int slot) {
        int length = lengths[slot];
        lengths[slot] = 0;
        free[freeCount++] = slot;
        if (length >= LARGE) {
            large--;
        } else if (length > 0) {
            small--;
        }
        nic.give(length, messages[slot]);
    }

    /** Writes of data under way. */
    int data() {
        return large + small;
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
        for (int slot = 0; slot < lengths.length; slot++) {
            nic.give(lengths[slot], messages[slot]);
        }
        Arrays.fill(lengths, 0);
    }
}
