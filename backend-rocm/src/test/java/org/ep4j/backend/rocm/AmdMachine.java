package org.ep4j.backend.rocm;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.ep4j.Device;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.driver.VisibleGpu.VisibleGpus;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.topology.Locality;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LinuxTopology;

/**
 * A machine with AMD GPUs that is made up: its files as KFD has them, and what HIP shows of it. GPUs are numbered over all cards,
 * partition by partition.
 *
 * @param cards GPUs that can be held in a hand
 * @param hiveOf hive of every card, from 1; 0 where it has no xGMI
 * @param partitions of every card
 * @param readable false where the container hides {@code /sys/class/kfd}
 * @param functions true if HIP reports partitions as functions of the PCI address
 * @param visible numbers of the GPUs that HIP shows, in its order
 * @param denied pairs without peer access, from and to
 * @param process the process
 * @param environment of the process
 */
record AmdMachine(
        int cards,
        List<Integer> hiveOf,
        int partitions,
        boolean readable,
        boolean functions,
        List<Integer> visible,
        List<List<Integer>> denied,
        ProcessFacts process,
        Map<String, String> environment) {
    static final ProcessFacts PROCESS = new ProcessFacts("p", "1000", "pid:[1]", "ipc:[1]");
    private static final String NODES = "/sys/class/kfd/kfd/topology/nodes/";

    /** All cards in one hive, as MI300X. */
    static AmdMachine oneHive(int cards) {
        return of(Collections.nCopies(cards, 1), 1);
    }

    static AmdMachine of(List<Integer> hives, int partitions) {
        return new AmdMachine(
                hives.size(),
                hives,
                partitions,
                true,
                true,
                upTo(hives.size() * partitions),
                List.of(),
                PROCESS,
                Map.of());
    }

    static List<Integer> upTo(int count) {
        List<Integer> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(i);
        }
        return all;
    }

    AmdMachine unreadable() {
        return new AmdMachine(cards, hiveOf, partitions, false, functions, visible, denied, process, environment);
    }

    AmdMachine withoutFunctions() {
        return new AmdMachine(cards, hiveOf, partitions, readable, false, visible, denied, process, environment);
    }

    AmdMachine showing(List<Integer> gpus) {
        return new AmdMachine(cards, hiveOf, partitions, readable, functions, gpus, denied, process, environment);
    }

    AmdMachine denying(int from, int to) {
        return new AmdMachine(
                cards,
                hiveOf,
                partitions,
                readable,
                functions,
                visible,
                List.of(List.of(from, to)),
                process,
                environment);
    }

    AmdMachine in(ProcessFacts other) {
        return new AmdMachine(cards, hiveOf, partitions, readable, functions, visible, denied, other, environment);
    }

    AmdMachine with(String variable, String value) {
        return new AmdMachine(
                cards, hiveOf, partitions, readable, functions, visible, denied, process, Map.of(variable, value));
    }

    private int hive(int gpu) {
        return hiveOf.get(gpu / partitions);
    }

    private boolean xgmi(int a, int b) {
        return (hive(a) != 0 && hive(a) == hive(b)) || a / partitions == b / partitions;
    }

    /** As the kernel has it: the partition is the function. */
    PciAddress address(int gpu) {
        return new PciAddress(0, 0x10 + gpu / partitions, 0, gpu % partitions);
    }

    VisibleGpus shown() {
        List<VisibleGpu> all = new ArrayList<>();
        for (int ordinal = 0; ordinal < visible.size(); ordinal++) {
            Map<Integer, VisibleGpu.Peer> peers = new HashMap<>();
            for (int other = 0; other < visible.size(); other++) {
                if (other != ordinal) {
                    int from = visible.get(ordinal);
                    int to = visible.get(other);
                    boolean possible = !denied.contains(List.of(from, to));
                    peers.put(other, new VisibleGpu.Peer(possible, xgmi(from, to), xgmi(from, to) ? 1 : 2));
                }
            }
            PciAddress address = address(visible.get(ordinal));
            all.add(new VisibleGpu(
                    ordinal,
                    "AMD Instinct Test",
                    Optional.of(functions ? address : address.card()),
                    "gfx942",
                    true,
                    false,
                    peers));
        }
        return new VisibleGpus("HIP 6.4", all);
    }

    /** {@code /sys} and {@code /dev}. */
    FileTree files() {
        Map<String, String> files = new TreeMap<>();
        files.put("/sys/module/amdgpu/version", "6.12.12");
        files.put("/dev/kfd", "");
        if (readable) {
            files.put(NODES + "0/properties", "cpu_cores_count 64\nsimd_count 0\n");
            for (int gpu = 0; gpu < cards * partitions; gpu++) {
                node(files, gpu);
            }
        }
        return new Memory(files);
    }

    private void node(Map<String, String> files, int gpu) {
        PciAddress at = address(gpu);
        int location = at.bus() << 8 | at.device() << 3 | at.function();
        String folder = NODES + (gpu + 1);
        files.put("/dev/dri/renderD" + (128 + gpu), "");
        files.put(
                folder + "/properties",
                "cpu_cores_count 0\nsimd_count 1216\nvendor_id 4098\ndevice_id 29857\ngfx_target_version 90402\n"
                        + "domain 0\nlocation_id " + location + "\ndrm_render_minor " + (128 + gpu) + "\nnum_xcc "
                        + 8 / partitions + "\nhive_id " + (hive(gpu) == 0 ? 0 : 7_000_000_000L + hive(gpu)) + "\n");
        files.put(folder + "/io_links/0/properties", "type 2\nnode_from " + (gpu + 1) + "\nnode_to 0\nweight 20\n");
        int link = 1;
        for (int other = 0; other < cards * partitions; other++) {
            if (other != gpu && xgmi(gpu, other)) {
                boolean inside = gpu / partitions == other / partitions;
                files.put(
                        folder + "/io_links/" + link++ + "/properties",
                        "type 11\nnode_from " + (gpu + 1) + "\nnode_to " + (other + 1) + "\nweight "
                                + (inside ? 13 : 15) + "\nmin_bandwidth 64000\nmax_bandwidth 64000\n");
            }
        }
    }

    Topology topology() {
        return LinuxTopology.read("test", files(), Map.of());
    }

    ProbeReport probe(int ordinal) {
        return new RocmProbe(
                        new RocmProvider(),
                        this::shown,
                        this::topology,
                        () -> process,
                        files(),
                        file -> true,
                        environment)
                .probe(Device.hip(ordinal));
    }

    /** The profile of a rank with a GPU, by HIP's number. */
    RankProfile profile(int rank, String host, int ordinal) {
        Device device = Device.hip(ordinal);
        ProbeReport report = probe(ordinal);
        Topology topology = topology();
        Locality locality = topology.gpus().stream()
                .filter(gpu -> gpu.address().equals(Optional.of(address(visible.get(ordinal)))))
                .findFirst()
                .map(gpu -> Localities.of(topology, gpu, -1))
                .orElse(Locality.UNKNOWN);
        BackendProfile known = BackendProfile.of(report);
        return RankProfile.builder(rank, host, device)
                .pid(100 + rank)
                .locality(locality)
                .backends(Map.of(RocmProvider.ID, known))
                .build();
    }

    /** Files in memory. */
    record Memory(Map<String, String> files) implements FileTree {
        @Override
        public Optional<String> text(String path) {
            return Optional.ofNullable(files.get(path)).map(String::strip);
        }

        @Override
        public List<String> list(String path) {
            TreeSet<String> names = new TreeSet<>();
            files.keySet().stream()
                    .filter(file -> file.startsWith(path + "/"))
                    .forEach(file -> names.add(file.substring(path.length() + 1).split("/", 2)[0]));
            return List.copyOf(names);
        }

        @Override
        public Optional<String> real(String path) {
            return files.containsKey(path) || !list(path).isEmpty() ? Optional.of(path) : Optional.empty();
        }

        @Override
        public Optional<String> link(String path) {
            return Optional.empty();
        }
    }
}
