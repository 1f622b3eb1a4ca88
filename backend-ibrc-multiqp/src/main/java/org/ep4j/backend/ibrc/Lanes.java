package org.ep4j.backend.ibrc;

import java.util.Arrays;
import java.util.List;
import org.ep4j.EpTraffic;
import org.jspecify.annotations.Nullable;

/** The lanes to one peer, and whose turn it is. For one thread at a time, but for {@link #carried}. */
final class Lanes {
    private final Lane[] all;
    private final int start;
    private final LinkSettings settings;
    private @Nullable Lane home;
    private int next;
    /** Bytes that went to it in its turn: a few requests in a row cost less than requests that alternate. */
    private long turn;

    /**
     * All of them.
     *
     * @param start the first one that is to be {@link #home}
     */
    Lanes(List<Lane> all, int start, LinkSettings settings) {
        this.all = all.toArray(new Lane[0]);
        this.start = start;
        this.settings = settings;
    }

    Lane[] all() {
        return all;
    }

    Lane get(int index) {
        return all[index];
    }

    /** How many are in use. */
    int alive() {
        int count = 0;
        for (Lane lane : all) {
            count += lane.alive() ? 1 : 0;
        }
        return count;
    }

    /** Requests in flight. */
    int pending() {
        int pending = 0;
        for (Lane lane : all) {
            pending += lane.inFlight().pending();
        }
        return pending;
    }

    /** The lane of counters and small writes; it changes only when its rail is given up. */
    @Nullable
    Lane home() {
        Lane last = home;
        if (last != null && last.alive()) {
            return last;
        }
        home = findHome();
        return home;
    }

    private @Nullable Lane findHome() {
        for (int i = 0; i < all.length; i++) {
            Lane lane = all[(start + i) % all.length];
            if (lane.alive()) {
                return lane;
            }
        }
        return null;
    }

    /** Moves on to the next lane that has room, once the last one has had its share; false where none has. */
    boolean advanceToRoom() {
        if (turn < settings.stripe() && all[next].hasRoom()) {
            return true;
        }
        for (int i = 1; i <= all.length; i++) {
            int candidate = (next + i) % all.length;
            if (all[candidate].hasRoom()) {
                next = candidate;
                turn = 0;
                return true;
            }
        }
        return false;
    }

    /** Ends the turn of a lane, which has no room on its NIC. */
    void skip() {
        next = (next + 1) % all.length;
        turn = 0;
    }

    /** The lane whose turn it is. */
    Lane current() {
        return all[next];
    }

    /** Bytes went to the lane whose turn it is. */
    void took(int bytes) {
        turn += bytes;
    }

    /** What they have carried so far, for callers. */
    List<EpTraffic.Lane> carried() {
        return Arrays.stream(all).map(lane -> lane.traffic().read(lane.alive())).toList();
    }
}
