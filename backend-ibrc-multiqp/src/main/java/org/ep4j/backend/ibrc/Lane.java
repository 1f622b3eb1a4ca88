package org.ep4j.backend.ibrc;

import org.ep4j.engine.collective.NicFlow;
import org.ep4j.spi.LinkTraffic;

/**
 * One queue pair to a peer as its link sees it: what is under way on it, and what it has carried. For one thread at a time,
 * but for {@link #carried}.
 */
final class Lane {
    /** Requests that a queue pair holds and that are kept free. */
    private static final int SPARE = 2;

    private final int index;
    private final int rail;
    private final LaneEnds ends;
    private final NicFlow nic;
    private final SendLog log;
    private final LaneTraffic traffic = new LaneTraffic();
    private final int credits;
    private final int signalInterval;
    private int sinceSignal;
    private volatile boolean alive = true;
    private boolean sealed;
    private long fences;
    private int receivesPosted;
    private int receivesDone;
    private int receivesUsed;

    /**
     * A queue pair with nothing in flight.
     *
     * @param nic of this rank's port, shared with other lanes
     */
    Lane(int index, int rail, LaneEnds ends, NicFlow nic, LinkSettings settings) {
        this.index = index;
        this.rail = rail;
        this.ends = ends;
        this.nic = nic;
        this.log = new SendLog(ends.depth(), nic);
        this.credits = ends.depth() - SPARE;
        this.signalInterval = settings.signalInterval(ends.depth());
    }

    int index() {
        return index;
    }

    int rail() {
        return rail;
    }

    LaneEnds ends() {
        return ends;
    }

    SendLog log() {
        return log;
    }

    /** What it has carried, for callers. */
    LinkTraffic.OfLane carried() {
        return new LinkTraffic.OfLane(
                index(), ends().name(), alive(), traffic.bytes(), traffic.writes(), traffic.adds(), traffic.replays());
    }

    /** The NIC of this rank's port. */
    NicFlow nic() {
        return nic;
    }

    LaneTraffic traffic() {
        return traffic;
    }

    boolean alive() {
        return alive;
    }

    void stopped() {
        alive = false;
    }

    /** What the log says is final: late completions change nothing any more. */
    void seal() {
        sealed = true;
    }

    boolean sealed() {
        return sealed;
    }

    /** Fences that were posted to it. */
    long fences() {
        return fences;
    }

    void passFences(long count) {
        fences += count;
    }

    /** True when one more request fits. */
    boolean hasRoom() {
        return alive && log.pending() < credits;
    }

    /** True when half of what fits is under way. */
    boolean isBusy() {
        return 2 * log.pending() > credits;
    }

    /** True when the next request is to report completion. */
    boolean signalsNext() {
        sinceSignal++;
        if (sinceSignal < signalInterval) {
            return false;
        }
        sinceSignal = 0;
        return true;
    }

    void signaled() {
        sinceSignal = 0;
    }

    void receivesPosted(int count) {
        receivesPosted += count;
    }

    /** A receive ended, in whatever way. */
    void receiveDone() {
        receivesDone++;
        receivesUsed++;
    }

    /** Receives to post again, when there are enough for one call. */
    int receivesToPost() {
        if (receivesUsed < ends.receives() / 4 || !alive) {
            return 0;
        }
        int count = receivesUsed;
        receivesUsed = 0;
        return count;
    }

    /** True when no receive is outstanding. */
    boolean receivesDrained() {
        return receivesDone == receivesPosted;
    }
}
