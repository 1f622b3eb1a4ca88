package org.ep4j.backend.rocm;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.ep4j.Device;
import org.ep4j.gpu.driver.MappedGpuProbe;
import org.ep4j.gpu.driver.MappedGpuProvider;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.driver.VisibleGpu.VisibleGpus;
import org.ep4j.gpu.hip.HipGpus;
import org.ep4j.spi.Check;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.Topologies;

/**
 * Checks which GPUs this rank's GPU can share memory with. It allocates nothing. The codes:
 *
 * <ul>
 *   <li>{@code EP-ROC-001} the device is an AMD GPU
 *   <li>{@code EP-ROC-002} the driver amdgpu is loaded, and this user may open its devices
 *   <li>{@code EP-ROC-003} HIP works and is new enough
 *   <li>{@code EP-ROC-004} the GPU exists, and its PCI address and partition are known
 *   <li>{@code EP-ROC-005} links (xGMI with its hops, or PCIe) and peer access of every pair of GPUs
 *   <li>{@code EP-ROC-006} memory can be shared between processes
 *   <li>{@code EP-ROC-007} which GPUs of the machine this process sees, with hives, partitions and XCDs
 *   <li>{@code EP-ROC-008} kind of memory that peers write to: uncached over xGMI, fine-grained over PCIe
 *   <li>{@code EP-ROC-009} pairs of GPUs over PCIe; their order of writes is tested when the backend is opened
 * </ul>
 */
final class RocmProbe extends MappedGpuProbe<HipPairs> {
    static final String DEVICE = "EP-ROC-001";
    private static final String DRIVER = "EP-ROC-002";
    private static final String RUNTIME = "EP-ROC-003";
    private static final String GPU = "EP-ROC-004";
    private static final String PAIRS = "EP-ROC-005";
    private static final String PROCESSES = "EP-ROC-006";
    private static final String VISIBLE = "EP-ROC-007";
    private static final String MEMORY = "EP-ROC-008";
    private static final String ORDER = "EP-ROC-009";

    /** Without it, ROCr has no fine-grained memory of GPUs outside a hive ({@code amd_gpu_agent.cpp}). */
    private static final String FINE_GRAIN_PCIE = "HSA_FORCE_FINE_GRAIN_PCIE";

    private final KfdView kfd;
    private final Map<String, String> environment;

    /**
     * Creates a probe.
     *
     * @param provider of the backend
     * @param shown GPUs that HIP shows to the process
     * @param topology the machine
     * @param process this process
     * @param files {@code /sys}, {@code /dev} and {@code /proc}
     * @param opens true for files that the process may read and write
     * @param environment of the process
     */
    RocmProbe(
            MappedGpuProvider provider,
            Supplier<VisibleGpus> shown,
            Supplier<Topology> topology,
            Supplier<ProcessFacts> process,
            FileTree files,
            Predicate<String> opens,
            Map<String, String> environment) {
        super(
                provider,
                List.of(DEVICE, DRIVER, RUNTIME, GPU, PAIRS, PROCESSES, VISIBLE, MEMORY, ORDER),
                new Texts(
                        "HIP IPC",
                        "see rocminfo, and for the driver the result of check " + DRIVER,
                        "HIP does not work",
                        "ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES",
                        "update ROCm",
                        "the GPU's PCI address or partition is not known",
                        RocmProvider.PEER_ACCESS),
                shown,
                topology,
                process);
        this.kfd = new KfdView(files, opens);
        this.environment = environment;
    }

    static RocmProbe live(MappedGpuProvider provider) {
        FileTree files = FileTree.of(Path.of("/"));
        return new RocmProbe(
                provider,
                HipGpus::look,
                Topologies::live,
                () -> ProcessFacts.of(files),
                files,
                file -> Files.isReadable(Path.of(file)) && Files.isWritable(Path.of(file)),
                System.getenv());
    }

    @Override
    protected List<Check> beforeDriver() {
        return List.of(kfd.driver(DRIVER));
    }

    @Override
    protected HipPairs places(List<VisibleGpu> gpus, Topology machine) {
        return new HipPairs(gpus, machine);
    }

    @Override
    protected Check unplaced(Device device, VisibleGpu mine) {
        return mine.address()
                .map(address -> Check.fail(
                        GPU,
                        "HIP shows only some of the GPU partitions at " + address
                                + "; all of these partitions have this address, so it is unknown which partition "
                                + device
                                + " is",
                        "give every rank all partitions of the GPUs (leave ROCR_VISIBLE_DEVICES and"
                                + " HIP_VISIBLE_DEVICES unset), make /sys/class/kfd readable, and choose the GPU of each"
                                + " rank with ep.device"))
                .orElseGet(() -> super.unplaced(device, mine));
    }

    @Override
    protected List<Check> further(VisibleGpu mine, HipPairs pairs, int gpus) {
        Map<Integer, String> hops = new TreeMap<>(pairs.names());
        mine.peers().forEach((peer, way) -> hops.computeIfPresent(peer, (same, name) -> name + "/" + way.hops()));
        fact(RocmFacts.XGMI, mine, VisibleGpu.Peer::linked, hops);
        fact(RocmFacts.PCI, mine, peer -> !peer.linked(), pairs.names());
        return List.of(visible(gpus), memory(mine), order(mine));
    }

    private Check visible(int seen) {
        String machine = kfd.describe();
        String detail = seen + " GPUs visible; " + (machine.isEmpty() ? "KFD shows none" : "KFD has " + machine);
        return kfd.gpus() <= seen
                ? Check.pass(VISIBLE, detail)
                : Check.warn(
                        VISIBLE,
                        detail + "; a rank cannot map memory of GPUs that are hidden from it",
                        "unset ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES, and choose the GPU of each rank with"
                                + " ep.device");
    }

    /** As {@code GpuDriver.allocateShared} of the hip device chooses. */
    private Check memory(VisibleGpu mine) {
        boolean xgmi = mine.peers().values().stream().anyMatch(VisibleGpu.Peer::linked);
        if (xgmi || mine.peers().isEmpty()) {
            return Check.pass(
                    MEMORY,
                    xgmi
                            ? "shared memory is uncached because peers write it over xGMI"
                            : "shared memory is uncached; this process sees one GPU");
        }
        boolean allowed = "1".equals(environment.getOrDefault(FINE_GRAIN_PCIE, ""))
                || mine.address().filter(kfd::inHive).isPresent();
        return allowed
                ? Check.pass(MEMORY, "shared memory is fine-grained because peers write it over PCIe")
                : Check.warn(
                        MEMORY,
                        "shared memory is fine-grained because peers write it over PCIe; without " + FINE_GRAIN_PCIE
                                + "=1, ROCm may not offer such memory",
                        "set " + FINE_GRAIN_PCIE + "=1 in the environment of every rank, before it starts");
    }

    private Check order(VisibleGpu mine) {
        String pci = devices(mine, peer -> !peer.linked() && peer.possible());
        return Check.pass(
                ORDER,
                pci.isEmpty()
                        ? "no GPU is reached over PCIe"
                        : "GPUs reached over PCIe: " + pci + "; opening the backend tests the order of writes,"
                                + " and fails if this order is not kept");
    }
}
