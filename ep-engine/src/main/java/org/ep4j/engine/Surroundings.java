package org.ep4j.engine;

import java.nio.file.Path;
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
        return new Surroundings(Localities.ofHost(topology, 0, ProcessNuma.of(files), gidIndex), "");
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
}
