package org.ep4j.backend.efa;

import java.util.Map;
import org.ep4j.tck.writes.TwoProcesses;

/** Rank 1 in a process of its own. */
public final class RankProcess {
    private RankProcess() {}

    /** Arguments: provider, and those of {@link TwoProcesses#second}. */
    public static void main(String[] arguments) {
        TwoProcesses.second(FabricScenarios.ranks(Map.of("ep.efa.provider", arguments[0])), arguments[1], arguments[2]);
        System.exit(0);
    }
}
