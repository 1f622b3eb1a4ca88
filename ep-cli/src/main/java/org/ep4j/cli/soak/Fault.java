package org.ep4j.cli.soak;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** A kind of fault that is injected into a round. */
public enum Fault {
    /** No fault: a round of exchanges in which nobody may see an exception. */
    NONE(2, false),
    /** SIGKILL of one rank. */
    KILL(2, true),
    /** SIGKILL of two ranks, 0 to 50 ms apart; rank 0 is one of them in every second round. */
    DOUBLE_KILL(3, true),
    /** SIGSTOP of one rank beyond the heartbeat timeout, SIGCONT after the others have recovered. */
    STOP(3, true),
    /** SIGSTOP and SIGCONT of one rank within the timeouts: nobody may be lost. */
    PAUSE(2, true),
    /** Ranks that sleep between operations: nobody may be lost. */
    SLOW(2, false),
    /** Connections of members to rank 0 of the rendezvous are reset. */
    RESET(2, false),
    /** Buffers closed at different times and created again, then a rank that leaves. */
    SKEWED_CLOSE(2, false),
    /** One of several RDMA ports goes down and comes back: nobody may be lost. */
    PORT_DOWN(2, true),
    /** The folder for shared memory is full while a buffer is created. */
    SHM_FULL(2, false),
    /** Two ranks, of which one is stopped beyond the timeout and continued: never both go on. */
    PARTITION(2, true);

    private final int leastRanks;
    private final boolean needsProcesses;

    Fault(int leastRanks, boolean needsProcesses) {
        this.leastRanks = leastRanks;
        this.needsProcesses = needsProcesses;
    }

    /** Fewest ranks of a round. */
    int leastRanks() {
        return leastRanks;
    }

    /** True where ranks must be processes of their own. */
    boolean needsProcesses() {
        return needsProcesses;
    }

    /** Name in the option: {@code double-kill}. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Fault of a name in the option. */
    static Optional<Fault> of(String word) {
        return Arrays.stream(values()).filter(f -> f.word().equals(word)).findFirst();
    }
}
