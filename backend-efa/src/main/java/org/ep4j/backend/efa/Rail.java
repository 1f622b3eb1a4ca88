package org.ep4j.backend.efa;

import java.util.Arrays;
import org.ep4j.transport.NicFlow;
import org.ep4j.transport.posted.LaneTraffic;

/**
 * A NIC of this rank and one of the peer, between which a link writes. A write in flight has a slot, by which its
 * completion names it. For one thread at a time, except for reading {@link #traffic}.
 */
final class Rail {
    /** Bytes from which a write counts as large: it takes a provider so long that few at once keep it busy. */
    static final int LARGE = 64 << 10;

    /** Slots for writes without data, which must not wait for those with data. */
    static final int RESERVED = 8;

    /** Slots of these that records may not take either: a peer waits for immediates that are sent alone. */
    private static final int LAST = 2;

    private final int index;
    private final String device;
    private final String name;
    private final int place;
    private final int peerPlace;
    private final long longest;
    private final NicFlow nic;
    private final NicProfile profile;
    private final int[] free;
    private final int[] lengths;
    private final boolean[] messages;
    private int freeCount;
    private int large;
    private int small;
    private int posted;
    private final LaneTraffic traffic;

    /**
     * A rail with nothing in flight.
     *
     * @param index of it on its link
     * @param device this rank's NIC, as the provider names it
     * @param name of both NICs, for messages
     * @param place of this rank's keys for it
     * @param peerPlace of the peer's keys for it
     * @param longest bytes of a write that the provider accepts
     * @param nic of this rank, shared with other links
     * @param profile of this rank's NIC
     */
    Rail(
            int index,
            String device,
            String name,
            int place,
            int peerPlace,
            long longest,
            NicFlow nic,
            NicProfile profile) {
        this.index = index;
        this.device = device;
        this.name = name;
        this.place = place;
        this.peerPlace = peerPlace;
        this.longest = Math.min(longest, nic.longest());
        this.nic = nic;
        this.profile = profile;
        this.traffic = new LaneTraffic(index, name);
        int slots = profile.slots();
        this.free = new int[slots];
        this.lengths = new int[slots];
        this.messages = new boolean[slots];
        this.freeCount = slots;
        for (int i = 0; i < slots; i++) {
            free[i] = i;
        }
    }

    int index() {
        return index;
    }

    String device() {
        return device;
    }

    String name() {
        return name;
    }

    int place() {
        return place;
    }

    int peerPlace() {
        return peerPlace;
    }

    /** Bytes of a write at most. */
    long longest() {
        return longest;
    }

    NicFlow nic() {
        return nic;
    }

    /**
     * Takes a slot for a write of data; -1 where there is none.
     *
     * @param message whether it is of low latency, see {@link NicFlow#take}
     */
    int take(int length, boolean message) {
        boolean isLarge = length >= LARGE;
        if (freeCount == 0
                || posted >= profile.burst()
                || (isLarge ? large >= profile.largeWrites() : small >= profile.smallWrites())) {
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

    /** Gives back the slot of a write. */
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

    /** Writes of data in flight. */
    int data() {
        return large + small;
    }

    /** Writes in flight. */
    int pending() {
        return free.length - freeCount;
    }

    /** Lets another burst begin. */
    void polled() {
        posted = 0;
    }

    /** Gives other links this one's part of the NIC: nothing is in flight any more. */
    void abandon() {
        for (int slot = 0; slot < lengths.length; slot++) {
            nic.give(lengths[slot], messages[slot]);
        }
        Arrays.fill(lengths, 0);
    }

    /** What it has carried; records are counter updates. */
    LaneTraffic traffic() {
        return traffic;
    }
}
