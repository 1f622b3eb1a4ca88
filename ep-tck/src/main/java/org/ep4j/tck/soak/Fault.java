package org.ep4j.tck.soak;

import java.util.Locale;

/** What is done to the ranks of one round of a soak. */
public enum Fault {
    /** Nothing happens. */
    NONE(0),
    /** A rank sleeps up to 20 ms before each exchange. */
    SLOW(0),
    /** A rank's process is stopped (SIGSTOP) and continues before anybody can take it for lost. */
    PAUSE(0),
    /** Ranks close their buffer and their group at different times, in either order. */
    CLOSE(0),
    /** Ranks ask for a buffer that has no room in memory: all are refused, and go on with the one that they have. */
    FULL(0),
    /** One of a rank's RoCE ports is taken down for up to 2 s; its traffic goes over the others. Requires CAP_NET_ADMIN. */
    PORT_DOWN(0),
    /** A rank's process is killed (SIGKILL). */
    KILL(1),
    /** Two processes are killed up to 50 ms apart, rank 0 in half of the rounds. */
    DOUBLE_KILL(2),
    /** A rank's process is stopped until the others have gone on without it, and continues then. */
    STOP(1),
    /** One of two ranks is stopped, and continues when the other has given up: they may not both go on, each by itself. Requires two ranks. */
    PARTITION(0),
    /** The connection of a rank to the rendezvous is reset. */
    RESET(1);

    private final int lost;

    Fault(int lost) {
        this.lost = lost;
    }

    /** Ranks that the others go on without. */
    public int lost() {
        return lost;
    }

    /** Whether it is injected if no faults are named. Those that change the machine, or that only two ranks can have, are not. */
    public boolean isInDefaultSet() {
        return this != PORT_DOWN && this != PARTITION;
    }

    /** Whether ranks recover from it, or have to refuse a recovery. */
    public boolean needsRecovery() {
        return lost > 0 || this == PARTITION;
    }

    /** Whether the ranks cannot be used for another round: some are lost, or have given up a port. */
    boolean leavesRanksUnusable() {
        return needsRecovery() || this == PORT_DOWN;
    }

    /** Whether processes are stopped past the heartbeat timeout. */
    boolean stopsForLong() {
        return this == STOP || this == PARTITION;
    }

    /** Whether the processes of these ranks end. */
    boolean kills() {
        return this == KILL || this == DOUBLE_KILL;
    }

    /** Fewest ranks of a group that this can be done to: those that stay alive must be more than half. */
    public int fewestRanks() {
        return Math.max(2, 2 * lost + 1);
    }

    /** Name on a command line: {@code double-kill}. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
