package org.ep4j.cli.doctor;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.cli.plan.PlannedBackend;
import org.ep4j.cli.plan.SimulatedRanks;
import org.ep4j.cli.plan.SimulationOptions;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.topology.Topology;

/** NICs that a plan gives the GPUs of a machine, with one rank a GPU and a second host like it. */
final class PlannedNics {
    private PlannedNics() {}

    /**
     * By index of the GPU; empty without GPUs.
     *
     * @throws org.ep4j.EpException when the settings allow no plan
     */
    static Map<Integer, List<String>> of(Topology machine, EpConfig config) {
        Map<Integer, List<String>> nics = new TreeMap<>();
        if (machine.gpus().stream().allMatch(gpu -> gpu.vendor().deviceType().isEmpty())) {
            return nics;
        }
        List<PlannedBackend> backends = PlannedBackend.all();
        SimulatedRanks ranks =
                SimulatedRanks.of(machine, backends, SimulationOptions.AS_DESCRIBED.withHosts(2), config);
        EpPlan plan = Planner.plan(
                ranks.profiles(),
                backends.stream().map(PlannedBackend::candidate).toList(),
                PlanOptions.from(config));
        for (int rank : plan.hostRanks(0)) {
            nics.put(plan.profiles().get(rank).locality().gpu(), plan.nics(rank));
        }
        return nics;
    }
}
