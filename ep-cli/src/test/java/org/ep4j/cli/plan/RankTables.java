package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.BufferSize;
import org.ep4j.EpEngine;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.cli.plan.Machines.Joined;
import org.ep4j.cli.plan.Machines.NicKind;
import org.ep4j.cli.plan.SimulatedRanks.GpuLinks;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Relays;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.Objective;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.plan.PortPairing;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.NicFamily;
import org.ep4j.topology.model.Topology;

/**
 * What one rank makes of a plan when it joins a group and creates a buffer, without the memory.
 *
 * @param size of its buffer
 * @param users ranks of each backend
 * @param mapped ranks whose memory it maps
 * @param remotes the other ones
 * @param places its place among the remote ranks of each of these
 * @param via who passes on what it sends to each rank; -1 for nobody
 * @param ports pairs of ports by which it is connected to all remote ranks
 */
record RankTables(
        BufferSize size,
        Map<String, List<Integer>> users,
        List<Integer> mapped,
        List<Integer> remotes,
        List<Integer> places,
        List<Integer> via,
        long ports) {
    private static final List<PlannedBackend> BACKENDS = PlannedBackend.all();
    private static final NicKind CONNECTX = NicKind.of(NicFamily.MLX5, 1, 400);

    /** Kinds of clusters: backends within hosts or domains, and between them. */
    static final List<Mix> MIXES = List.of(
            new Mix(
                    "host-shm and efa",
                    Machines.hostOnly(List.of(NicKind.of(NicFamily.EFA, 1, 100))),
                    8,
                    true,
                    "host-shm",
                    "efa"),
            new Mix("ipc-nvlink and nvshmem-ibgda", nvlink(CONNECTX), 8, false, "ipc-nvlink", "nvshmem-ibgda"),
            new Mix("nvshmem-ibgda alone", nvlink(CONNECTX), 8, false, "nvshmem-ibgda"),
            new Mix("ipc-nvlink and ibrc-multiqp", nvlink(CONNECTX), 8, false, "ipc-nvlink", "ibrc-multiqp"),
            new Mix("ipc-nvlink in domains of 72 and ibrc-multiqp", domain(), 4, false, "ipc-nvlink", "ibrc-multiqp"),
            new Mix("ibrc-multiqp alone", nvlink(CONNECTX), 8, false, "ibrc-multiqp"),
            new Mix("ipc-nvlink and efa", nvlink(NicKind.of(NicFamily.EFA, 4, 100)), 8, false, "ipc-nvlink", "efa"),
            new Mix(
                    "rocm and ibrc-multiqp",
                    Machines.gpus(8, GpuVendor.AMD, Joined.XGMI, List.of(NicKind.of(NicFamily.IONIC, 1, 400))),
                    8,
                    false,
                    "rocm",
                    "ibrc-multiqp"));

    private static Topology nvlink(NicKind nics) {
        return Machines.gpus(8, GpuVendor.NVIDIA, Joined.NVSWITCH, List.of(nics));
    }

    private static Topology domain() {
        return Machines.inClique(4, "clique", List.of(CONNECTX));
    }

    /** @param perHost ranks of a host */
    record Mix(String name, Topology machine, int perHost, boolean onHost, List<String> backends) {
        Mix(String name, Topology machine, int perHost, boolean onHost, String... backends) {
            this(name, machine, perHost, onHost, List.of(backends));
        }

        /** What so many ranks report, each of them a process. */
        List<RankProfile> profiles(int ranks) {
            SimulatedRanks.Options options =
                    new SimulatedRanks.Options(ranks / perHost, perHost, 0, GpuLinks.AUTO, onHost ? "host" : "");
            return Machines.ranks(machine, BACKENDS, options).profiles().stream()
                    .map(Mix::asProcess)
                    .toList();
        }

        private static RankProfile asProcess(RankProfile rank) {
            Map<String, BackendProfile> backends = new TreeMap<>(rank.backends());
            backends.computeIfPresent("ipc-nvlink", (id, found) -> {
                Map<String, String> identity = new TreeMap<>(found.identity());
                identity.put("started as", rank.hostId() + " " + rank.rank());
                return found.withIdentity(identity);
            });
            return RankProfile.builder(rank.rank(), rank.hostId(), rank.device())
                    .hostName(rank.hostName())
                    .pid(rank.rank())
                    .locality(rank.locality())
                    .domain(rank.domain())
                    .backends(backends)
                    .settings(rank.settings())
                    .build();
        }

        GroupPlan plan(List<RankProfile> profiles) {
            return Planner.plan(
                    profiles,
                    BACKENDS.stream().map(PlannedBackend::candidate).toList(),
                    new PlanOptions(
                            new BackendChoice(backends, List.of(), List.of()), NicChoice.AUTO, Objective.BALANCED));
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static RankTables of(GroupPlan plan, int rank) {
        EpShape shape = EpShape.builder(1024, plan.ranks(), 8)
                .maxTokens(64)
                .maxLowLatencyTokens(8)
                .build();
        BufferSize size = EpEngine.installed().bufferSize(shape, plan, rank);
        Map<String, List<Integer>> users = new TreeMap<>();
        plan.backends().forEach(backend -> users.put(backend, plan.ranksUsing(backend)));
        Relays relays = Relays.of(plan);
        List<Integer> remotes = GpuWindow.remotes(plan, rank);
        List<Integer> places = new ArrayList<>();
        List<Integer> via = new ArrayList<>();
        for (int peer = 0; peer < plan.ranks(); peer++) {
            via.add(relays.relay(rank, peer, Mask.NONE));
        }
        long ports = 0;
        for (int peer : remotes) {
            places.add(GpuWindow.place(plan, peer, rank));
            if (plan.pathKind(rank, peer) == EpPath.Kind.HOST_POSTED) {
                ports += PortPairing.of(plan, rank, peer, plan.backend(rank, peer), (profile, port) -> true)
                        .lower()
                        .size();
            }
        }
        return new RankTables(size, users, plan.mappedPeers(rank), remotes, places, via, ports);
    }
}
