package com.example.planner;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.config.EpKeys;
import org.ep4j.doctor.Doctor;
import org.ep4j.doctor.DoctorInput;
import org.ep4j.plan.GroupPlan;
import org.ep4j.plan.PlanOptions;
import org.ep4j.plan.Planner;
import org.ep4j.plan.offer.Estimates;
import org.ep4j.plan.offer.GpuPath;
import org.ep4j.plan.offer.NicOffers;
import org.ep4j.plan.offer.NicPaths;
import org.ep4j.spi.Check;
import org.ep4j.spi.EpBackendProvider;
import org.ep4j.spi.Offer;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.Topologies;

/**
 * A tool of a user: plans a group of two hosts from the description of one, and checks the description. It has no backend on
 * its class path, so it makes the offers itself.
 */
public final class PlanFromFile {
    private static final int HOSTS = 2;

    private PlanFromFile() {}

    /** Prints a plan. The argument is a file that {@link Topologies#read(Path)} understands. */
    public static void main(String... arguments) {
        Path description = Path.of(arguments[0]);
        Topology machine = Topologies.read(description);
        List<RankProfile> ranks = new ArrayList<>();
        for (int host = 0; host < HOSTS; host++) {
            for (Gpu gpu : machine.gpus()) {
                Device device = new Device(gpu.vendor().deviceType(), gpu.index());
                BackendProfile usable = BackendProfile.of(Map.of(), Map.of());
                ranks.add(RankProfile.builder(ranks.size(), "host-" + host, device)
                        .locality(Localities.of(machine, gpu, -1))
                        .backends(Map.of("links", usable, "nics", usable))
                        .build());
            }
        }
        List<Planner.Candidate> backends = List.of(
                new Planner.Candidate("links", PlanFromFile::overLinks),
                new Planner.Candidate("nics", PlanFromFile::overNics));
        GroupPlan plan = Planner.plan(ranks, backends, PlanOptions.AUTO);
        System.out.println(
                ServiceLoader.load(EpBackendProvider.class).stream().count() + " backends on the class path");
        System.out.print(plan.explain());
        examine(description, machine, plan).stream()
                .filter(check -> check.status() == Check.Status.WARN || check.status() == Check.Status.FAIL)
                .forEach(check -> System.out.println(check.status() + " " + check.code() + " " + check.detail()));
    }

    private static Offer overLinks(RankProfile from, RankProfile to) {
        return GpuPath.between(from, to)
                .map(GpuPath::offer)
                .orElseGet(() -> Offer.none("no GPU link joins these hosts", "use NICs"));
    }

    private static Offer overNics(RankProfile from, RankProfile to) {
        return NicOffers.between(side(from), side(to), EpPath.Kind.HOST_POSTED, Estimates.NETWORK_MICROS);
    }

    private static NicOffers.Side side(RankProfile rank) {
        return new NicOffers.Side(
                rank, NicPaths.of(rank.locality(), nic -> nic.family().rdma()));
    }

    /** Checks of the first host; it is a description, so there are neither files nor libraries to examine. */
    private static List<Check> examine(Path description, Topology machine, GroupPlan plan) {
        Map<Integer, List<String>> nics = new TreeMap<>();
        plan.hostRanks(0)
                .forEach(rank -> nics.put(plan.profiles().get(rank).locality().gpu(), plan.nics(rank)));
        return Doctor.examine(new DoctorInput(
                machine,
                FileTree.of(description.resolveSibling("no-such-folder")),
                Map.of(),
                EpConfig.builder(Map.of(), Map.of()).build(),
                nics,
                List.of(),
                new DoctorInput.Need(nics.size(), 1L << 30),
                Optional.empty(),
                EpKeys.all(),
                Optional.empty()));
    }
}
