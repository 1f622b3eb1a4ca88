package org.ep4j.cli.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.BackendChoice;
import org.ep4j.plan.NicChoice;
import org.ep4j.plan.Settings;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.NumaNode;
import org.ep4j.topology.model.Topology;

/**
 * The ranks that a cluster of described machines would have: host by host, on each in the order of its GPUs.
 *
 * @param profiles what the ranks would report
 * @param assumptions what the description does not say and was supposed, for people
 */
public record SimulatedRanks(List<RankProfile> profiles, List<String> assumptions) {
    /** GPUs of one NVL72 rack, the largest domain of NVLink that is sold. */
    private static final int LARGEST_DOMAIN = 72;

    /**
     * Makes the ranks.
     *
     * @param config settings of every rank
     * @throws EpArgumentException when the machine has fewer GPUs than ranks are wanted
     * @throws EpUnavailableException when it has GPUs of which none can be used
     */
    public static SimulatedRanks of(
            Topology topology, List<PlannedBackend> backends, Options options, EpConfig config) {
        return new Maker(topology, backends, options, config).make();
    }

    /**
     * Options for the ranks of a cluster of described machines.
     *
     * @param hosts number of hosts; 0 for as many as the description has
     * @param ranksPerHost ranks of each; 0 for one a GPU, or one a NUMA node where there is none
     * @param domainHosts hosts that share an NVLink domain; 0 for what the description says
     * @param gpuLinks where GPU links are taken from
     * @param device "host" to plan ranks without GPUs, empty for what the machine has
     */
    public record Options(int hosts, int ranksPerHost, int domainHosts, GpuLinks gpuLinks, String device) {
        public static final Options AS_DESCRIBED = new Options(0, 0, 0, GpuLinks.AUTO, "");

        public Options withHosts(int number) {
            return new Options(number, ranksPerHost, domainHosts, gpuLinks, device);
        }
    }

    /** Source of GPU links. */
    public enum GpuLinks {
        /** From the description; where it shows none at all, from the model of the GPUs. */
        AUTO,
        /** From the description alone. */
        FILE,
        /** All GPUs of a host are joined by their links through switches. */
        ALL,
        /** There are none. */
        NONE
    }

    private record Seat(Device device, Locality locality, String clique) {}

    private static final class Maker {
        private final Topology topology;
        private final List<PlannedBackend> backends;
        private final Options options;
        private final EpConfig config;
        private final int gidIndex;
        private final BackendChoice choice;
        private final Map<String, String> settings;
        private final Set<String> assumptions = new LinkedHashSet<>();
        private final List<RankProfile> profiles = new ArrayList<>();

        Maker(Topology topology, List<PlannedBackend> backends, Options options, EpConfig config) {
            this.topology = topology;
            this.backends = backends;
            this.options = options;
            this.config = config;
            this.gidIndex = EpKeys.NIC_GID_INDEX.get(config);
            this.choice = BackendChoice.from(config);
            // As a rank does before it joins: a message names the variable that was set.
            NicChoice.from(config);
            this.settings = Settings.ofRank(config, PlannedBackend.withKeys(EpKeys.all(), backends));
        }

        SimulatedRanks make() {
            int templates = topology.hosts().size();
            int hosts = options.hosts() == 0 ? templates : options.hosts();
            List<List<Seat>> seats = new ArrayList<>();
            for (int t = 0; t < Math.min(templates, hosts); t++) {
                seats.add(seats(t));
            }
            for (int host = 0; host < hosts; host++) {
                for (Seat seat : seats.get(host % seats.size())) {
                    profiles.add(profile(host, seat));
                }
            }
            return new SimulatedRanks(profiles, List.copyOf(assumptions));
        }

        private List<Seat> seats(int host) {
            List<Gpu> gpus = topology.gpus().stream()
                    .filter(gpu -> gpu.host() == host)
                    .filter(gpu -> !gpu.vendor().deviceType().isEmpty())
                    .toList();
            boolean onHost = options.device().equals("host");
            if (!onHost && gpus.isEmpty()) {
                long others = topology.gpus().stream()
                        .filter(gpu -> gpu.host() == host)
                        .count();
                assumptions.add((others == 0
                                ? "the description has no GPU"
                                : "none of the " + others + " accelerators in the description is known")
                        + ", so ranks use the host device");
            }
            return onHost || gpus.isEmpty() ? hostSeats(host) : gpuSeats(gpus);
        }

        private List<Seat> gpuSeats(List<Gpu> gpus) {
            int ranks = options.ranksPerHost() == 0 ? gpus.size() : options.ranksPerHost();
            if (ranks > gpus.size()) {
                throw new EpArgumentException(
                        "--ranks-per-host",
                        ranks,
                        "at most " + gpus.size() + ", the number of GPUs per host in " + topology.source(),
                        "plan at most one rank per GPU");
            }
            GpuLinkChoice links = new GpuLinkChoice(options.gpuLinks(), assumptions);
            Map<Gpu, Locality> around = new LinkedHashMap<>();
            gpus.forEach(gpu -> around.put(gpu, Localities.of(topology, gpu, gidIndex)));
            boolean linked = around.values().stream().anyMatch(GpuLinkChoice::isLinked);
            List<Seat> seats = new ArrayList<>();
            around.forEach((gpu, locality) -> {
                if (seats.size() < ranks) {
                    seats.add(new Seat(
                            new Device(gpu.vendor().deviceType(), gpu.index()),
                            links.apply(gpu, gpus, locality, linked),
                            gpu.clique()));
                }
            });
            return seats;
        }

        private List<Seat> hostSeats(int host) {
            List<Integer> numa = topology.numaNodes().stream()
                    .filter(node -> node.host() == host)
                    .map(NumaNode::number)
                    .collect(Collectors.toCollection(TreeSet::new))
                    .stream()
                    .toList();
            int ranks = options.ranksPerHost() == 0 ? Math.max(1, numa.size()) : options.ranksPerHost();
            List<Seat> seats = new ArrayList<>();
            for (int i = 0; i < ranks; i++) {
                int node = numa.isEmpty() ? -1 : numa.get(i % numa.size());
                seats.add(new Seat(Device.HOST, Localities.ofHost(topology, host, node, gidIndex), ""));
            }
            return seats;
        }

        private RankProfile profile(int host, Seat seat) {
            String hostId = "host-" + host;
            RankProfile described = RankProfile.builder(profiles.size(), hostId, seat.device())
                    .locality(seat.locality())
                    .domain(domain(host, seat))
                    .settings(settings)
                    .build();
            Map<String, BackendProfile> found = new TreeMap<>();
            for (PlannedBackend backend : backends) {
                found.put(
                        backend.id(),
                        choice.refuses(backend.id())
                                .map(why -> BackendProfile.unusable("not probed: " + why))
                                .orElseGet(() ->
                                        BackendProfile.of(backend.describe().apply(described, config))));
            }
            return described.toBuilder().backends(found).build();
        }

        private String domain(int host, Seat seat) {
            if (seat.locality().gpu() < 0 || (seat.clique().isEmpty() && options.domainHosts() == 0)) {
                return "";
            }
            int gpus = Math.max(1, seat.locality().gpus());
            int size = options.domainHosts() > 0
                    ? options.domainHosts()
                    : Math.max(topology.hosts().size(), LARGEST_DOMAIN / gpus);
            if (options.domainHosts() == 0) {
                assumptions.add(
                        "NVLink domains of up to " + size + " hosts, because the description names an NVLink clique");
            }
            return (seat.clique().isEmpty() ? "domain" : seat.clique()) + "#" + host / size;
        }
    }
}
