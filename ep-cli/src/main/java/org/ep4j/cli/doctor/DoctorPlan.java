package org.ep4j.cli.doctor;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.cli.plan.PlannedBackend;
import org.ep4j.cli.plan.SimulatedRanks;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.Topology;

/** The plan of a group over two machines like this one, with one rank a GPU. */
final class DoctorPlan {
    private DoctorPlan() {}

    /**
     * Returns the NICs that the plan gives the GPUs of one machine, by index of the GPU; empty without GPUs.
     *
     * @throws org.ep4j.EpException when the settings allow no plan
     */
    static Map<Integer, List<String>> nics(Topology machine, EpConfig config) {
        Map<Integer, List<String>> nics = new TreeMap<>();
        if (hasGpus(machine)) {
            GroupPlan plan = plan(machine, PlannedBackend.all(), config);
            for (int rank : plan.hostRanks(0)) {
                nics.put(plan.profiles().get(rank).locality().gpu(), plan.nics(rank));
            }
        }
        return nics;
    }

    /**
     * Returns the usable backends that two such machines use, where they have NICs for it; none without GPUs. Where none of these sends
     * over the NICs with RDMA, all backends that would are needed, too.
     *
     * @param usable backends whose probes found nothing against them
     */
    static Set<String> needed(Topology machine, EpConfig config, Set<String> usable) {
        Set<String> nics = machine.nics().stream()
                .filter(nic -> nic.compute() && nic.family().rdma() && !machine.isForeign(nic, -1))
                .map(Nic::name)
                .collect(Collectors.toSet());
        if (nics.isEmpty() || !hasGpus(machine)) {
            return Set.of();
        }
        Map<Boolean, List<PlannedBackend>> backends = PlannedBackend.all().stream()
                .collect(Collectors.partitioningBy(backend -> usable.contains(backend.id())));
        List<PlannedBackend> working = backends.getOrDefault(true, List.of());
        Set<String> needed = new HashSet<>();
        try {
            needed.addAll(plan(machine, working, config).backends());
        } catch (EpException e) {
            // No path between hosts: the checks of the machine say what is wrong with the NICs.
        }
        if (working.stream().noneMatch(backend -> sends(machine, backend, nics, config))) {
            backends.getOrDefault(false, List.of()).stream()
                    .filter(backend -> sends(machine, backend, nics, config))
                    .forEach(backend -> needed.add(backend.id()));
        }
        return needed;
    }

    /** Returns whether a backend alone connects two such machines over some of their NICs with RDMA. */
    private static boolean sends(Topology machine, PlannedBackend backend, Set<String> nics, EpConfig config) {
        try {
            GroupPlan plan = plan(machine, List.of(backend), config);
            return plan.nics(0).stream().anyMatch(port -> nics.contains(port.replaceAll(":.*", "")));
        } catch (EpException e) {
            return false;
        }
    }

    private static boolean hasGpus(Topology machine) {
        return machine.gpus().stream()
                .anyMatch(gpu -> !gpu.vendor().deviceType().isEmpty());
    }

    private static GroupPlan plan(Topology machine, List<PlannedBackend> backends, EpConfig config) {
        SimulatedRanks ranks =
                SimulatedRanks.of(machine, backends, SimulatedRanks.Options.AS_DESCRIBED.withHosts(2), config);
        return Planner.plan(
                ranks.profiles(),
                backends.stream().map(PlannedBackend::candidate).toList(),
                PlanOptions.from(config));
    }
}
