package org.ep4j.backend.rocm;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.ep4j.Device;
import org.ep4j.EpException;
import org.ep4j.engine.driver.PeerFacts;
import org.ep4j.engine.driver.ProcessFacts;
import org.ep4j.engine.hip.HipGpu;
import org.ep4j.engine.hip.HipGpus;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.topology.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.Topologies;

/**
 * Looks which GPUs this rank's GPU can share memory with. It allocates nothing. The codes:
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
final class RocmProbe {
    static final String DEVICE = "EP-ROC-001";
    static final String DRIVER = "EP-ROC-002";
    static final String RUNTIME = "EP-ROC-003";
    static final String GPU = "EP-ROC-004";
    static final String PAIRS = "EP-ROC-005";
    static final String PROCESSES = "EP-ROC-006";
    static final String VISIBLE = "EP-ROC-007";
    static final String MEMORY = "EP-ROC-008";
    static final String ORDER = "EP-ROC-009";

    /** Without it, ROCr has no fine-grained memory of GPUs outside a hive ({@code amd_gpu_agent.cpp}). */
    private static final String FINE_GRAIN_PCIE = "HSA_FORCE_FINE_GRAIN_PCIE";

    /**
     * What it looks at.
     *
     * @param gpus GPUs that HIP shows to the process
     * @param topology the machine
     * @param process this process
     * @param files {@code /sys}, {@code /dev} and {@code /proc}
     * @param opens true for files that the process may read and write
     * @param environment of the process
     */
    record Sources(
            Supplier<HipGpus> gpus,
            Supplier<Topology> topology,
            Supplier<ProcessFacts> process,
            FileTree files,
            Predicate<String> opens,
            Map<String, String> environment) {
        static Sources live() {
            FileTree files = FileTree.of(Path.of("/"));
            return new Sources(
                    HipGpus::look,
                    Topologies::live,
                    () -> ProcessFacts.of(files),
                    files,
                    file -> Files.isReadable(Path.of(file)) && Files.isWritable(Path.of(file)),
                    System.getenv());
        }
    }

    private final Sources sources;
    private final KfdView kfd;
    private final List<Check> checks = new ArrayList<>();
    private final Map<String, String> facts = new TreeMap<>();
    private final Map<String, String> identity = new TreeMap<>();

    private RocmProbe(Sources sources) {
        this.sources = sources;
        this.kfd = new KfdView(sources.files(), sources.opens());
    }

    static ProbeReport probe(ProbeRequest request) {
        return probe(request.device(), Sources.live());
    }

    /** As above, with other things to look at. */
    static ProbeReport probe(Device device, Sources sources) {
        RocmProbe probe = new RocmProbe(sources);
        probe.run(device);
        return new ProbeReport(probe.checks, probe.facts, probe.identity);
    }

    static Check device(Device device) {
        return device.type().equals(RocmOffer.DEVICE)
                ? Check.pass(DEVICE, "device hip")
                : Check.notApplicable(
                        DEVICE,
                        "device " + device.type() + " is not an AMD GPU",
                        "use ipc-nvlink for NVIDIA GPUs and host-shm for the host device");
    }

    private void run(Device device) {
        Check kind = device(device);
        checks.add(kind);
        if (kind.status() != Check.Status.PASS) {
            skipFrom(DRIVER, "the device is not an AMD GPU");
            return;
        }
        checks.add(kfd.driver(DRIVER));
        HipGpus gpus;
        try {
            gpus = sources.gpus().get();
        } catch (EpException e) {
            checks.add(Check.fail(
                    RUNTIME,
                    String.valueOf(e.getMessage()),
                    "see rocminfo, and for the driver the result of check " + DRIVER));
            skipFrom(GPU, "HIP does not work");
            return;
        }
        checks.add(
                Check.pass(RUNTIME, "HIP " + gpus.runtime() + ", " + gpus.all().size() + " GPUs visible"));
        Optional<HipGpu> mine = gpus.all().stream()
                .filter(gpu -> gpu.ordinal() == device.ordinal())
                .findFirst();
        if (mine.isEmpty()) {
            checks.add(Check.fail(
                    GPU,
                    device + " does not exist: this process sees " + gpus.all().size() + " GPUs",
                    "set ep.device to a lower ordinal, or check ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES"));
            skipFrom(PAIRS, "the GPU does not exist");
            return;
        }
        HipPlaces places = new HipPlaces(gpus, topology());
        Optional<HipPlaces.Place> place = places.of(device.ordinal());
        if (place.isEmpty()) {
            checks.add(unplaced(device, mine.get()));
            skipFrom(PAIRS, "the GPU's PCI address or partition is not known");
            return;
        }
        look(mine.get(), place.get(), new HipPairs(gpus, places), gpus, places);
    }

    private static Check unplaced(Device device, HipGpu gpu) {
        return gpu.address().isEmpty()
                ? Check.fail(
                        GPU,
                        "cannot read the PCI address of " + device + ", by which other ranks identify the GPU",
                        "update ROCm")
                : Check.fail(
                        GPU,
                        "HIP shows only some of the GPU partitions at "
                                + gpu.address().get()
                                + "; all of these partitions have this address, so it is unknown which partition "
                                + device
                                + " is",
                        "give every rank all partitions of the GPUs (leave ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES unset),"
                                + " make /sys/class/kfd readable, and choose the GPU of each rank with ep.device");
    }

    private void skipFrom(String first, String why) {
        for (String code : List.of(DRIVER, RUNTIME, GPU, PAIRS, PROCESSES, VISIBLE, MEMORY, ORDER)) {
            if (code.compareTo(first) >= 0) {
                checks.add(new Check(code, Check.Status.NOT_RUN, why, ""));
            }
        }
    }

    private void look(HipGpu mine, HipPlaces.Place place, HipPairs pairs, HipGpus gpus, HipPlaces places) {
        facts.put(PeerFacts.GPU, place.name());
        facts.put(ProbeReport.SUMMARY, "HIP IPC");
        facts.put(PeerFacts.ARCHITECTURE, mine.architecture());
        facts.put(PeerFacts.GPUS, PeerFacts.gpus(places.indexes()));
        facts.put(PeerFacts.DENIED, pairs.peers(mine, way -> !way.possible()));
        facts.put(RocmFacts.XGMI, pairs.xgmi(mine));
        facts.put(RocmFacts.PCI, pairs.peers(mine, way -> !way.xgmi()));
        checks.add(Check.pass(
                GPU,
                "hip:" + mine.ordinal() + " is " + mine.name() + ", " + mine.architecture() + ", at " + place.name()));
        checks.add(pairs(mine, pairs));
        checks.add(processes());
        checks.add(visible(gpus));
        checks.add(memory(mine));
        checks.add(order(mine));
    }

    /** A machine that cannot be read is one of which nothing is known but what HIP tells. */
    private Topology topology() {
        try {
            return sources.topology().get();
        } catch (RuntimeException e) {
            return Topology.builder("unknown: " + e).build();
        }
    }

    private static Check pairs(HipGpu mine, HipPairs pairs) {
        String all = pairs.describe();
        if (all.isEmpty()) {
            return Check.pass(PAIRS, "this process sees one GPU");
        }
        List<String> denied = mine.peers().entrySet().stream()
                .filter(peer -> !peer.getValue().possible())
                .map(peer -> "hip:" + peer.getKey())
                .toList();
        return denied.isEmpty()
                ? Check.pass(PAIRS, all)
                : Check.warn(
                        PAIRS,
                        "hip:" + mine.ordinal() + " has no peer access to " + String.join(", ", denied) + ": " + all,
                        "see rocm-smi --showtopoaccess; with PCIe the BIOS must give the GPUs large BARs, and the kernel"
                                + " needs CONFIG_HSA_AMD_P2P");
    }

    private Check processes() {
        ProcessFacts process = sources.process().get();
        identity.put(PeerFacts.PROCESS, process.process());
        identity.put(PeerFacts.USER, process.user());
        identity.put(PeerFacts.PIDS, process.pids());
        facts.put(PeerFacts.INTERPROCESS, PeerFacts.YES);
        return Check.pass(
                PROCESSES,
                "memory can be shared with processes of the same user and PID namespace; this process has user "
                        + unknown(process.user()) + " and namespaces " + unknown(process.pids()) + " and "
                        + unknown(process.ipc()));
    }

    private static String unknown(String text) {
        return text.isEmpty() ? "unknown" : text;
    }

    private Check visible(HipGpus gpus) {
        int seen = gpus.all().size();
        String machine = kfd.describe();
        String detail = seen + " GPUs visible; " + (machine.isEmpty() ? "KFD shows none" : "KFD has " + machine);
        return kfd.gpus() <= seen
                ? Check.pass(VISIBLE, detail)
                : Check.warn(
                        VISIBLE,
                        detail + "; a rank cannot map memory of GPUs that are hidden from it",
                        "unset ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES, and choose the GPU of each rank with ep.device");
    }

    /** As {@code GpuDriver.allocateShared} of the hip device chooses. */
    private Check memory(HipGpu mine) {
        boolean xgmi = mine.peers().values().stream().anyMatch(HipGpu.Way::xgmi);
        if (xgmi || mine.peers().isEmpty()) {
            return Check.pass(
                    MEMORY,
                    xgmi
                            ? "shared memory is uncached because peers write it over xGMI"
                            : "shared memory is uncached; this process sees one GPU");
        }
        boolean allowed = "1".equals(sources.environment().getOrDefault(FINE_GRAIN_PCIE, ""))
                || mine.address().filter(kfd::inHive).isPresent();
        return allowed
                ? Check.pass(MEMORY, "shared memory is fine-grained because peers write it over PCIe")
                : Check.warn(
                        MEMORY,
                        "shared memory is fine-grained because peers write it over PCIe; without " + FINE_GRAIN_PCIE
                                + "=1, ROCm may not offer such memory",
                        "set " + FINE_GRAIN_PCIE + "=1 in the environment of every rank, before it starts");
    }

    private static Check order(HipGpu mine) {
        List<String> pci = mine.peers().entrySet().stream()
                .filter(peer -> !peer.getValue().xgmi() && peer.getValue().possible())
                .map(peer -> "hip:" + peer.getKey())
                .toList();
        return Check.pass(
                ORDER,
                pci.isEmpty()
                        ? "no GPU is reached over PCIe"
                        : "GPUs reached over PCIe: " + String.join(", ", pci)
                                + "; opening the backend tests the order of writes,"
                                + " and fails if this order is not kept");
    }
}
