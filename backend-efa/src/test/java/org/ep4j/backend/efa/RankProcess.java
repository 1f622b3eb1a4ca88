package org.ep4j.backend.efa;

import java.util.Map;
import org.ep4j.tck.writes.TwoProcesses;

/** Rank 1 in a process of its own. */
public final class RankProcess {
    private RankProcess() {}

    /** Arguments: provider, what to do ({@code held}, or whether to die), and a port. */
    public static void main(String[] arguments) {
        String provider = arguments[0];
        String what = arguments[1];
        String port = arguments[2];
        if (what.equals("held")) {
            TwoProcesses.second(
                    FabricScenarios.ranks(FabricScenarios.full(provider)),
                    port,
                    FabricScenarios.held(provider).part(FabricScenarios.PATIENCE));
        } else {
            TwoProcesses.second(FabricScenarios.ranks(Map.of("ep.efa.provider", provider)), what, port);
        }
        System.exit(0);
    }
}
