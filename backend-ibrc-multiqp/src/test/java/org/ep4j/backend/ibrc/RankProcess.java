package org.ep4j.backend.ibrc;

import org.ep4j.tck.writes.TwoProcesses;

/** Rank 1 in a process of its own. */
public final class RankProcess {
    private RankProcess() {}

    /** Arguments are those of {@link TwoProcesses#second}. */
    public static void main(String[] arguments) {
        TwoProcesses.second(VerbsScenarios.twoPorts(Boolean.parseBoolean(arguments[0])), arguments[0], arguments[1]);
        System.exit(0);
    }
}
