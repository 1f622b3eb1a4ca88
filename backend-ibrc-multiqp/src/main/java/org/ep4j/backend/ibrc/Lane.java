package org.ep4j.backend.ibrc;

import org.ep4j.transport.NicFlow;
import org.ep4j.transport.posted.LaneTraffic;

/**
 * One queue pair to a peer as its link sees it: what is in flight on it, and what it has carried. For the thread that
 * holds the lock of the link; any thread may call {@link #alive} and read {@link #traffic}.
 */
final class Lane {
    /** Requests that a queue pair holds and that are kept free. */
    private static final int SPARE = 2;

    private final int index;
    private final int rail;
    private final Ends ends;
    private final NicFlow nic;
    private final SendQueue.InFlight inFlight;
    private final int credits;
    private final int signalInterval;
    private int sinceSignal;
    private volatile boolean alive = true;
    private boolean sealed;
    private long fences;
    private int receivesPosted;
    private int receivesDone;
    private int receivesUsed;
    private final LaneTraffic traffic;

    /**
     * Both ends of a queue pair.
     *
     * @param qp this rank's, as requests name it
     * @param port index of this rank's port
     * @param remotePort index of the peer's port among the peer's
     * @param depth requests that it holds
     * @param receives receives that are kept posted; 0 where none are needed
     * @param inline bytes that travel inside a request
     * @param maxMessage bytes of a message at most
     * @param nic this rank's port, as the plan names it
     * @param name both ports, for messages
     */
    record Ends(
            long qp,
            int port,
            int remotePort,
            int depth,
            int receives,
            int inline,
            long maxMessage,
            String nic,
            String name) {}

    /**
     * A queue pair with nothing in flight.
     *
     * @param nic of this rank's port, shared with other lanes
     */
    Lane(int index, int rail, Ends ends, NicFlow nic, LinkSettings settings) {
        this.index = index;
        this.rail = rail;
        this.ends = ends;
        this.nic = nic;
        this.inFlight = new SendQueue.InFlight(ends.depth(), nic);
        this.credits = ends.depth() - SPARE;
        this.signalInterval = settings.signalInterval(ends.depth());
        this.traffic = new LaneTraffic(index, ends.name());
    }

    int index() {
        return index;
    }

    int rail() {
        return rail;
    }

    Ends ends() {
        return ends;
    }

    SendQueue.InFlight inFlight() {
        return inFlight;
    }

    /** What it has carried. */
    LaneTraffic traffic() {
        return traffic;
    }

    /** The NIC of this rank's port. */
    NicFlow nic() {
        return nic;
    }

    /** Counts a request as carried. */
    void count(SendQueue.Request request) {
        if (request.writes()) {
            traffic.write(request.length);
        }
        if (request.counted != null) {
            traffic.signal();
        }
    }

    boolean alive() {
        return alive;
    }

    void stopped() {
        alive = false;
    }

    /** Makes what is in flight final: late completions change nothing any more. */
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
        return alive && inFlight.pending() < credits;
    }

    /** True when half of what fits is under way. */
    boolean isBusy() {
        return 2 * inFlight.pending() > credits;
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
