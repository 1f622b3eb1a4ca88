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
 * Position of a rank's device in its machine, as planning uses it. It stays unknown on a machine that cannot be read, and the group
 * forms all the same.
 *
 * @param locality distances and NICs
 * @param domain NVLink domain beyond the host, {@code cluster-uuid/clique-id}; empty when there is none, or no IMEX channel
 */
record DeviceLocality(Locality locality, String domain) {
    private static final System.Logger LOG = System.getLogger("org.ep4j");
    private static final String NUMA_NODES = "/sys/devices/system/node";
    private static final int MOST_PROCESSORS = 1 << 16;

    static final DeviceLocality UNKNOWN = new DeviceLocality(Locality.UNKNOWN, "");

    /** Reads that of a device of this process, with the parameters of the method below. */
    static DeviceLocality of(Device device, Optional<PciAddress> place, int gidIndex) {
        DeviceLocality machine =
                of(device, place, gidIndex, FileTree.of(Path.of("/")), Topologies::live, System.getenv());
        // A container or a launcher may restrict the process to fewer cores.
        return machine.locality().gpu() < 0
                ? machine
                : new DeviceLocality(
                        machine.locality()
                                .withAtMostProcessors(Runtime.getRuntime().availableProcessors()),
                        machine.domain());
    }

    /**
     * Reads that of a device on a machine, which need not be this one.
     *
     * @param place its PCI address, if its driver reports it; else the environment says which GPU a number means
     * @param gidIndex value of {@link org.ep4j.config.EpKeys#NIC_GID_INDEX}
     * @param files {@code /sys}, {@code /proc} and {@code /dev} of the machine
     * @param gpus reads the machine with its GPUs; not called for the host device, since the libraries of GPUs take time
     * @param environment variables of the process
     */
    static DeviceLocality of(
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
                    topology.warnings().forEach(DeviceLocality::note);
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

    private static DeviceLocality gpu(
            Device device,
            Optional<PciAddress> place,
            int gidIndex,
            FileTree files,
            Topology topology,
            Map<String, String> environment) {
        topology.warnings().forEach(DeviceLocality::note);
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

    /** Returns the locality of the CPU, for the host device and for GPUs without a known place. */
    private static DeviceLocality withoutPlace(Topology topology, int gidIndex, FileTree files) {
        return new DeviceLocality(Localities.ofHost(topology, 0, numaNode(files), gidIndex), "");
    }

    private static DeviceLocality around(Gpu gpu, Topology topology, int gidIndex, FileTree files) {
        return new DeviceLocality(Localities.of(topology, gpu, gidIndex), domain(gpu, files));
    }

    /** Returns the NVLink domain; without an IMEX channel memory is not shared beyond the host. */
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
