package org.ep4j.backend.nvlink;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpException;
import org.ep4j.engine.cuda.CudaGpu;
import org.ep4j.engine.cuda.CudaGpus;
import org.ep4j.engine.driver.PeerFacts;
import org.ep4j.engine.driver.ProcessFacts;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.spi.ProbeRequest;
import org.ep4j.topology.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.ImexChannels;
import org.ep4j.topology.read.Topologies;

/**
 * Looks which GPUs this rank's GPU can share memory with. It makes no context and allocates nothing. The codes:
 *
 * <ul>
 *   <li>{@code EP-NVL-001} the device is an NVIDIA GPU
 *   <li>{@code EP-NVL-002} the CUDA driver works
 *   <li>{@code EP-NVL-003} the GPU exists, and its PCI address is known
 *   <li>{@code EP-NVL-004} links and peer access of every pair of GPUs
 *   <li>{@code EP-NVL-005} memory can be shared between processes
 *   <li>{@code EP-NVL-006} which GPUs of the machine this process sees
 *   <li>{@code EP-NVL-007} whether an NVLink domain of several hosts can be used
 * </ul>
 */
final class NvlinkProbe {
    static final String DEVICE = "EP-NVL-001";
    static final String DRIVER = "EP-NVL-002";
    static final String GPU = "EP-NVL-003";
    static final String PAIRS = "EP-NVL-004";
    static final String PROCESSES = "EP-NVL-005";
    static final String VISIBLE = "EP-NVL-006";
    static final String DOMAIN = "EP-NVL-007";

    /**
     * What it looks at.
     *
     * @param gpus GPUs that CUDA shows to the process
     * @param topology the machine
     * @param process this process
     * @param files {@code /dev} and {@code /proc}
     */
    record Sources(
            Supplier<CudaGpus> gpus, Supplier<Topology> topology, Supplier<ProcessFacts> process, FileTree files) {
        static Sources live() {
            FileTree files = FileTree.of(Path.of("/"));
            return new Sources(CudaGpus::look, Topologies::live, () -> ProcessFacts.of(files), files);
        }
    }

    private final Sources sources;
    private final List<Check> checks = new ArrayList<>();
    private final Map<String, String> facts = new TreeMap<>();
    private final Map<String, String> identity = new TreeMap<>();

    private NvlinkProbe(Sources sources) {
        this.sources = sources;
    }

    static ProbeReport probe(ProbeRequest request) {
        return probe(request.device(), Sources.live());
    }

    /** As above, with other things to look at. */
    static ProbeReport probe(Device device, Sources sources) {
        NvlinkProbe probe = new NvlinkProbe(sources);
        probe.run(device);
        return new ProbeReport(probe.checks, probe.facts, probe.identity);
    }

    static Check device(Device device) {
        return device.type().equals("cuda")
                ? Check.pass(DEVICE, "device cuda")
                : Check.notApplicable(
                        DEVICE,
                        "device " + device.type() + " is not an NVIDIA GPU",
                        "use rocm for AMD GPUs and host-shm for the host device");
    }

    private void run(Device device) {
        Check kind = device(device);
        checks.add(kind);
        if (kind.status() != Check.Status.PASS) {
            skipFrom(DRIVER, "the device is not an NVIDIA GPU");
            return;
        }
        CudaGpus gpus;
        try {
            gpus = sources.gpus().get();
        } catch (EpException e) {
            checks.add(Check.fail(
                    DRIVER,
                    String.valueOf(e.getMessage()),
                    "see nvidia-smi, and run containers with the NVIDIA runtime"));
            skipFrom(GPU, "the CUDA driver does not work");
            return;
        }
        int version = gpus.driver();
        checks.add(Check.pass(
                DRIVER,
                "driver for CUDA " + version / 1000 + "." + version % 1000 / 10 + ", "
                        + gpus.all().size() + " GPUs visible"));
        Optional<CudaGpu> mine = gpus.all().stream()
                .filter(gpu -> gpu.ordinal() == device.ordinal())
                .findFirst();
        if (mine.isEmpty()) {
            checks.add(Check.fail(
                    GPU,
                    device + " does not exist: this process sees " + gpus.all().size() + " GPUs",
                    "set ep.device to a lower ordinal, or check CUDA_VISIBLE_DEVICES"));
            skipFrom(PAIRS, "the GPU does not exist");
            return;
        }
        if (mine.get().address().isEmpty()) {
            checks.add(Check.fail(
                    GPU,
                    "cannot read the PCI address of " + device + ", by which other ranks identify the GPU",
                    "update the NVIDIA driver"));
            skipFrom(PAIRS, "the GPU's PCI address is not known");
            return;
        }
        look(mine.get(), gpus);
    }

    private void skipFrom(String first, String why) {
        for (String code : List.of(DRIVER, GPU, PAIRS, PROCESSES, VISIBLE, DOMAIN)) {
            if (code.compareTo(first) >= 0) {
                checks.add(new Check(code, Check.Status.NOT_RUN, why, ""));
            }
        }
    }

    private void look(CudaGpu mine, CudaGpus gpus) {
        String address = mine.address().orElseThrow().toString();
        facts.put(PeerFacts.GPU, address);
        facts.put(ProbeReport.SUMMARY, "CUDA IPC");
        facts.put(PeerFacts.ARCHITECTURE, mine.architecture());
        checks.add(Check.pass(
                GPU, "cuda:" + mine.ordinal() + " is " + mine.name() + ", " + mine.architecture() + ", at " + address));
        GpuPairs pairs = new GpuPairs(gpus, topology());
        facts.put(PeerFacts.GPUS, PeerFacts.gpus(pairs.indexes()));
        facts.put(PeerFacts.DENIED, pairs.peers(mine, access -> !access.possible()));
        facts.put(NvlinkFacts.ATOMICS, pairs.peers(mine, access -> access.possible() && access.atomics()));
        checks.add(pairs(mine, pairs));
        checks.add(processes(mine));
        checks.add(visible(gpus, pairs));
        checks.add(domain(mine, pairs));
    }

    /** A machine that cannot be read is one of which nothing is known but what CUDA tells. */
    private Topology topology() {
        try {
            return sources.topology().get();
        } catch (RuntimeException e) {
            return Topology.builder("unknown: " + e).build();
        }
    }

    private static Check pairs(CudaGpu mine, GpuPairs pairs) {
        List<String> all = pairs.describe();
        if (all.isEmpty()) {
            return Check.pass(PAIRS, "this process sees one GPU");
        }
        String detail = String.join("; ", all);
        List<String> denied = mine.peers().entrySet().stream()
                .filter(peer -> !peer.getValue().possible())
                .map(peer -> "cuda:" + peer.getKey())
                .toList();
        return denied.isEmpty()
                ? Check.pass(PAIRS, detail)
                : Check.warn(
                        PAIRS,
                        "cuda:" + mine.ordinal() + " has no peer access to " + String.join(", ", denied) + ": "
                                + detail,
                        "see nvidia-smi topo -p2p rw; with NVSwitch start the fabric manager, with PCIe turn off ACS and"
                                + " the IOMMU for these GPUs");
    }

    private Check processes(CudaGpu mine) {
        ProcessFacts process = sources.process().get();
        identity.put(PeerFacts.PROCESS, process.process());
        identity.put(PeerFacts.USER, process.user());
        identity.put(PeerFacts.PIDS, process.pids());
        facts.put(PeerFacts.INTERPROCESS, mine.interprocess() ? PeerFacts.YES : PeerFacts.NO);
        String detail = "this process has user " + unknown(process.user()) + " and namespaces "
                + unknown(process.pids()) + " and " + unknown(process.ipc());
        return mine.interprocess()
                ? Check.pass(
                        PROCESSES, "memory can be shared with processes of the same user and PID namespace; " + detail)
                : Check.warn(
                        PROCESSES,
                        "the driver cannot share memory of this GPU between processes; " + detail,
                        "run the ranks of a host as threads of one process");
    }

    private static String unknown(String text) {
        return text.isEmpty() ? "unknown" : text;
    }

    private static Check visible(CudaGpus gpus, GpuPairs pairs) {
        List<String> hidden = pairs.hidden();
        String seen = gpus.all().size() + " GPUs visible";
        return hidden.isEmpty()
                ? Check.pass(VISIBLE, seen + ", all that this machine or container has")
                : Check.pass(
                        VISIBLE,
                        seen + "; CUDA_VISIBLE_DEVICES hides the GPUs at " + String.join(", ", hidden)
                                + ", which ranks of other processes may still use");
    }

    private Check domain(CudaGpu mine, GpuPairs pairs) {
        String clique = pairs.clique(mine);
        List<String> channels = ImexChannels.of(sources.files());
        boolean usable = mine.fabric() && !channels.isEmpty();
        facts.put(NvlinkFacts.FABRIC, usable ? PeerFacts.YES : PeerFacts.NO);
        if (clique.isEmpty()) {
            return Check.pass(DOMAIN, "NVLink connects only GPUs of this host");
        }
        String state = "NVLink domain " + clique + ", fabric handles " + (mine.fabric() ? "supported" : "not supported")
                + ", IMEX channels: "
                + (channels.isEmpty() ? "none" : channels.stream().collect(Collectors.joining(", ")));
        return usable
                ? Check.pass(DOMAIN, state)
                : Check.warn(
                        DOMAIN,
                        state + "; so NVLink is used only within the host",
                        mine.fabric()
                                ? "start nvidia-imex on all hosts of the domain and give the container a channel from the folder "
                                        + ImexChannels.FOLDER
                                : "install a driver that supports fabric handles (550 or newer)");
    }
}
