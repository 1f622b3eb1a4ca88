package org.ep4j.backend.ibrc;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.FailedPath;
import org.ep4j.NativeStatus;
import org.ep4j.plan.PathKind;
import org.jspecify.annotations.Nullable;

/** The lanes between one port of this rank and one of the peer. They are given up together. For one thread at a time. */
final class Rail {
    private final int index;
    private final List<Lane> lanes = new ArrayList<>();
    private boolean alive = true;
    private volatile @Nullable String cause;
    private boolean hasStatus;
    private volatile FailedPath failed = FailedPath.of(PathKind.HOST_POSTED);
    private @Nullable Lane teller;

    Rail(int index, Lane[] all) {
        this.index = index;
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
     * @param reported the status, where a completion had one
     */
    void told(Lane lane, String why, boolean status, Optional<NativeStatus> reported) {
        if (cause == null || (status && !hasStatus)) {
            hasStatus = status;
            FailedPath at =
                    FailedPath.of(PathKind.HOST_POSTED).withNic(lane.ends().nic());
            failed = reported.map(at::withStatus).orElse(at);
            cause = lane.ends().name() + " (queue pair " + lane.index() + "): " + why;
        }
    }

    /** True when the reason is the status of a completion. */
    boolean hasStatus() {
        return hasStatus;
    }

    /** Where and with which status it failed. */
    FailedPath failed() {
        return failed;
    }

    /** Why it was given up, for messages; empty where it was not. */
    String causes() {
        return cause == null ? "" : "; " + cause;
    }

    /**
     * True when the peer has to be told that the rail is stopped: once everything that came over it is counted, and again
     * when the lane that told it has failed since.
     */
    boolean toTell() {
        if (alive || (teller != null && teller.alive())) {
            return false;
        }
        for (Lane lane : lanes) {
            if (lane.ends().receives() > 0 && !lane.receivesDrained()) {
                return false;
            }
        }
        return true;
    }

    /** The peer is being told over a lane. */
    void toldOver(Lane lane) {
        teller = lane;
    }

    /** Stops all queue pairs. */
    void stop(Wire wire) {
        if (alive) {
            alive = false;
            for (Lane lane : lanes) {
                lane.stopped();
                wire.stop(lane.index());
                lane.log().release();
            }
        }
    }
}
