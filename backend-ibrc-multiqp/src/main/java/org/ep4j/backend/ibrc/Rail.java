package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.EpFailure;
import org.jspecify.annotations.Nullable;

/** The lanes between one port of this rank and one of the peer. They are given up together. For one thread at a time. */
final class Rail {
    private final int index;
    private final List<Lane> lanes = new ArrayList<>();
    private boolean alive = true;
    private volatile @Nullable String cause;
    private boolean hasStatus;
    private EpFailure failure;
    private @Nullable Lane carrier;

    /**
     * A rail that works.
     *
     * @param failure values of a failure of which nothing is known yet
     */
    Rail(int index, Lane[] all, EpFailure failure) {
        this.index = index;
        this.failure = failure;
        for (Lane lane : all) {
            if (lane.rail() == index) {
                lanes.add(lane);
            }
        }
    }

    int index() {
        return index;
    }

    boolean alive() {
        return alive;
    }

    /** How many are in use. */
    static int alive(Rail[] rails) {
        int count = 0;
        for (Rail rail : rails) {
            count += rail.alive ? 1 : 0;
        }
        return count;
    }

    /** Requests in flight. */
    int pending() {
        return lanes.stream().mapToInt(lane -> lane.inFlight().pending()).sum();
    }

    List<Lane> lanes() {
        return lanes;
    }

    Lane lane(int place) {
        return lanes.get(place);
    }

    /**
     * Notes the first reason; those after it are its consequences.
     *
     * @param status whether it is the status of a completion, which says more than that a request was refused
     * @param values the same as values
     */
    void failed(Lane lane, String why, boolean status, EpFailure values) {
        if (cause == null || (status && !hasStatus)) {
            hasStatus = status;
            failure = values;
            cause = lane.ends().name() + " (queue pair " + lane.index() + "): " + why;
        }
    }

    /** True when the reason is the status of a completion. */
    boolean hasStatus() {
        return hasStatus;
    }

    /** Values of the reason. */
    EpFailure failure() {
        return failure;
    }

    /** Why it was given up, for messages; empty where it was not. */
    String causes() {
        return cause == null ? "" : "; " + cause;
    }

    /**
     * Returns whether the peer needs a notice that the rail is stopped: once everything that came over it is counted, and again
     * when the lane that carried it has failed since.
     */
    boolean mustBeAnnounced() {
        if (alive || (carrier != null && carrier.alive())) {
            return false;
        }
        for (Lane lane : lanes) {
            if (lane.ends().receives() > 0 && !lane.receivesDrained()) {
                return false;
            }
        }
        return true;
    }

    /** Notes that the notice is on its way over a lane. */
    void announcedOver(Lane lane) {
        carrier = lane;
    }

    /** Stops all queue pairs. */
    void stop(Wire wire) {
        if (alive) {
            alive = false;
            for (Lane lane : lanes) {
                lane.stopped();
                wire.stop(lane.index());
            }
        }
    }
}
