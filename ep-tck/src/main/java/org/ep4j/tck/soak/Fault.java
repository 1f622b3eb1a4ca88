package org.ep4j.tck.soak;

import java.util.Locale;

/** A fault that a soak injects into the ranks of one round. */
public enum Fault {
    /** No fault. */
    NONE(0),
    /** A rank sleeps up to 20 ms before each exchange. */
    SLOW(0),
    /** A rank's process is stopped (SIGSTOP) and continues before it counts as lost. */
    PAUSE(0),
    /** Ranks close their buffer and their group at different times, in either order. */
    CLOSE(0),
    /** Ranks request a buffer that is larger than memory: all are refused, and continue with the one that they have. */
    FULL(0),
    /** One of a rank's RoCE ports is taken down for up to 2 s; its traffic goes over the others. Requires CAP_NET_ADMIN. */
    PORT_DOWN(0),
    /** A rank's process is killed (SIGKILL). */
    KILL(1),
    /** Two processes are killed up to 50 ms apart, rank 0 in half of the rounds. */
    DOUBLE_KILL(2),
    /** A rank's process is stopped until the others have continued without it, and continues then. */
    STOP(1),
    /** One of two ranks is stopped, and continues when the other has given up: they may not continue apart. Requires two ranks. */
    PARTITION(0),
    /** The connection of a rank to the rendezvous is reset. */
    RESET(1);

    private final int lost;

    Fault(int lost) {
        this.lost = lost;
    }

    /** Returns the number of ranks that the others continue without. */
    public int lost() {
        return lost;
    }

    /** Returns whether a soak injects the fault by default. Faults that change the machine, or need exactly two ranks, have to be named. */
    public boolean isInDefaultSet() {
        return this != PORT_DOWN && this != PARTITION;
    }

    /** Returns whether ranks recover from the fault, or have to refuse a recovery. */
    public boolean needsRecovery() {
        return lost > 0 || this == PARTITION;
    }

    /** Returns whether the ranks cannot run another round: some are lost, or have given up a port. */
    boolean leavesRanksUnusable() {
        return needsRecovery() || this == PORT_DOWN;
    }

    /** Returns whether processes are stopped for longer than the heartbeat timeout. */
    boolean stopsForLong() {
        return this == STOP || this == PARTITION;
    }

    /** Returns whether processes are killed. */
    boolean kills() {
        return this == KILL || this == DOUBLE_KILL;
    }

    /** Returns the fewest ranks of a group with this fault: those that stay alive must be more than half. */
    public int fewestRanks() {
        return Math.max(2, 2 * lost + 1);
    }

    /** Returns the name on a command line: {@code double-kill}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
