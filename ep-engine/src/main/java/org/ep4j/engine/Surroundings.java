package org.ep4j.engine;

import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.Device;
import org.ep4j.topology.Locality;
import org.ep4j.topology.model.Gpu;
import org.ep4j.topology.model.Localities;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LinuxTopology;
import org.ep4j.topology.read.Topologies;

/**
 * The machine around the device of a rank. A machine that cannot be read leaves it unknown, and the group forms all the same.
 *
 * @param locality what planning uses of it
 * @param domain NVLink domain beyond the host, {@code cluster-uuid/clique-id}; empty when there is none, or no IMEX channel
 */
record Surroundings(Locality locality, String domain) {
    private static final System.Logger LOG = System.getLogger("org.ep4j");
    private static final String NUMA_NODES = "/sys/devices/system/node";
    private static final int MOST_PROCESSORS = 1 << 16;

    static final Surroundings UNKNOWN = new Surroundings(Locality.UNKNOWN, "");

    /**
     * Of a device of this process.
     *
     * @param place its PCI address, where its driver tells
     * @param gidIndex value of {@link org.ep4j.config.EpKeys#NIC_GID_INDEX}
     */
    static Surroundings of(Device device, Optional<PciAddress> place, int gidIndex) {
        Surroundings machine =
                of(device, place, gidIndex, FileTree.of(Path.of("/")), Topologies::live, System.getenv());
        // A container or a launcher may keep the process to fewer.
        return machine.locality().gpu() < 0
                ? machine
                : new Surroundings(
                        machine.locality()
                                .withAtMostProcessors(Runtime.getRuntime().availableProcessors()),
                        machine.domain());
    }

    /**
     * Of a device, on a machine that need not be this one.
     *
     * @param place its PCI address, where its driver tells; else the environment tells which GPU a number means
     * @param gidIndex value of {@link org.ep4j.config.EpKeys#NIC_GID_INDEX}
     * @param files its {@code /sys}, {@code /proc} and {@code /dev}
     * @param gpus the machine with all that is known of its GPUs; not asked for the host device, since asking the libraries of
     *     GPUs takes time
     * @param environment variables of the process
     */
    static Surroundings of(
            Device device,
            Optional<PciAddress> place,
            int gidIndex,
            FileTree files,
            Supplier<Topology> gpus,
            Map<String, String> environment) {
        try {
            return switch (device.type()) {
                case "host" -> {
                    Topology topology = LinuxTopology.read("this machine", files, environment);
                    topology.warnings().forEach(Surroundings::note);
                    yield withoutPlace(topology, gidIndex, files);
                }
                case "cuda", "hip" -> gpu(device, place, gidIndex, files, gpus.get(), environment);
                default -> UNKNOWN;
            };
        } catch (RuntimeException | LinkageError e) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    () -> "the topology around " + device + " cannot be read, so the plan does not use it: " + e,
                    e);
            return UNKNOWN;
        }
    }

    private static Surroundings gpu(
            Device device,
            Optional<PciAddress> place,
            int gidIndex,
            FileTree files,
            Topology topology,
            Map<String, String> environment) {
        topology.warnings().forEach(Surroundings::note);
        Optional<Gpu> there = place.flatMap(address -> topology.gpus().stream()
                .filter(gpu -> gpu.address().equals(Optional.of(address)))
                .findFirst());
        if (there.isPresent()) {
            return around(there.get(), topology, gidIndex, files);
        }
        if (place.isPresent()) {
            LOG.log(
                    System.Logger.Level.INFO,
                    () -> device + " at " + place.get() + " is not among the "
                            + topology.gpus().size()
                            + " GPUs found in /sys and by the GPU libraries, so the plan uses the distances of NICs from the CPU");
            return withoutPlace(topology, gidIndex, files);
        }
        VisibleDevices visible = new VisibleDevices(topology, files, environment);
        List<Gpu> gpus = device.type().equals("cuda") ? visible.cuda() : visible.hip();
        if (device.ordinal() >= gpus.size()) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    () ->
                            "the plan uses the distances of NICs from the CPU, because it is not known which GPU of the machine "
                                    + device + " is: "
                                    + gpus.size() + " of " + topology.gpus().size()
                                    + " GPUs are known to be visible to this process; if the machine has several GPU models, set"
                                    + " CUDA_DEVICE_ORDER=PCI_BUS_ID, and list GPUs in CUDA_VISIBLE_DEVICES by number");
            return withoutPlace(topology, gidIndex, files);
        }
        return around(gpus.get(device.ordinal()), topology, gidIndex, files);
    }

    /** Whatever its place is, the NICs of the host are there. */
    private static Surroundings withoutPlace(Topology topology, int gidIndex, FileTree files) {
        return new Surroundings(Localities.ofHost(topology, 0, numaNode(files), gidIndex), "");
    }

    private static Surroundings around(Gpu gpu, Topology topology, int gidIndex, FileTree files) {
        return new Surroundings(Localities.of(topology, gpu, gidIndex), domain(gpu, files));
    }

    /** Without a channel nothing is shared beyond the host, whatever NVLinks reach. */
    private static String domain(Gpu gpu, FileTree files) {
        if (!gpu.clique().isEmpty() && files.list(LinuxTopology.IMEX_CHANNELS).isEmpty()) {
            LOG.log(
                    System.Logger.Level.DEBUG,
                    () -> gpu.name() + " belongs to NVLink domain " + gpu.clique() + ", but "
                            + LinuxTopology.IMEX_CHANNELS
                            + " has no channel, so the plan uses NVLink only within the host");
            return "";
        }
        return gpu.clique();
    }

    private static void note(String warning) {
        LOG.log(System.Logger.Level.DEBUG, () -> "topology: " + warning);
    }

    /** NUMA node that this process is bound to, by its memory or its processors; -1 for none. */
    private static int numaNode(FileTree files) {
        BitSet memory = allowed(files, "Mems_allowed_list:");
        if (memory.cardinality() == 1) {
            return memory.nextSetBit(0);
        }
        BitSet processors = allowed(files, "Cpus_allowed_list:");
        for (String name : files.list(NUMA_NODES)) {
            if (name.matches("node\\d{1,4}") && !processors.isEmpty()) {
                BitSet outside = (BitSet) processors.clone();
                outside.andNot(
                        numbers(files.text(NUMA_NODES + "/" + name + "/cpulist").orElse("")));
                if (outside.isEmpty()) {
                    return Integer.parseInt(name.substring("node".length()));
                }
            }
        }
        return -1;
    }

    private static BitSet allowed(FileTree files, String key) {
        Optional<String> line = files.text("/proc/self/status")
                .orElse("")
                .lines()
                .filter(text -> text.startsWith(key))
                .findFirst();
        return numbers(line.map(text -> text.substring(key.length())).orElse(""));
    }

    /** Reads {@code 0-3,8}. */
    private static BitSet numbers(String list) {
        BitSet numbers = new BitSet();
        for (String range : List.of(list.strip().split(",", -1))) {
            if (range.matches("\\d{1,5}(-\\d{1,5})?")) {
                int dash = range.indexOf('-');
                int first = Integer.parseInt(dash < 0 ? range : range.substring(0, dash));
                int last = Integer.parseInt(range.substring(dash + 1));
                numbers.set(first, Math.max(first, Math.min(MOST_PROCESSORS, last)) + 1);
            }
        }
        return numbers;
    }
}
