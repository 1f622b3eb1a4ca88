package org.ep4j.backend.nvlink;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;
import org.ep4j.gpu.cuda.CudaGpus;
import org.ep4j.gpu.driver.MappedGpuProbe;
import org.ep4j.gpu.driver.MappedGpuProvider;
import org.ep4j.gpu.driver.PeerFacts;
import org.ep4j.gpu.driver.PeerFacts.ProcessFacts;
import org.ep4j.gpu.driver.VisibleGpu;
import org.ep4j.gpu.driver.VisibleGpu.VisibleGpus;
import org.ep4j.spi.Check;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LinuxTopology;
import org.ep4j.topology.read.Topologies;

/**
 * Checks which GPUs this rank's GPU can share memory with. It makes no context and allocates nothing. The codes:
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
final class NvlinkProbe extends MappedGpuProbe<GpuPairs> {
    static final String DEVICE = "EP-NVL-001";
    private static final String DRIVER = "EP-NVL-002";
    private static final String GPU = "EP-NVL-003";
    private static final String PAIRS = "EP-NVL-004";
    private static final String PROCESSES = "EP-NVL-005";
    private static final String VISIBLE = "EP-NVL-006";
    private static final String DOMAIN = "EP-NVL-007";

    private final FileTree files;

    /**
     * Creates a probe.
     *
     * @param provider of the backend
     * @param shown GPUs that CUDA shows to the process
     * @param topology the machine
     * @param process this process
     * @param files {@code /dev} and {@code /proc}
     */
    NvlinkProbe(
            MappedGpuProvider provider,
            Supplier<VisibleGpus> shown,
            Supplier<Topology> topology,
            Supplier<ProcessFacts> process,
            FileTree files) {
        super(
                provider,
                List.of(DEVICE, DRIVER, GPU, PAIRS, PROCESSES, VISIBLE, DOMAIN),
                new Texts(
                        "CUDA IPC",
                        "see nvidia-smi, and run containers with the NVIDIA runtime",
                        "the CUDA driver does not work",
                        "CUDA_VISIBLE_DEVICES",
                        "update the NVIDIA driver",
                        "the GPU's PCI address is not known",
                        IpcNvlinkProvider.PEER_ACCESS),
                shown,
                topology,
                process);
        this.files = files;
    }

    static NvlinkProbe live(MappedGpuProvider provider) {
        FileTree files = FileTree.of(Path.of("/"));
        return new NvlinkProbe(provider, CudaGpus::look, Topologies::live, () -> ProcessFacts.of(files), files);
    }

    @Override
    protected GpuPairs places(List<VisibleGpu> gpus, Topology machine) {
        return new GpuPairs(gpus, machine);
    }

    @Override
    protected List<Check> further(VisibleGpu mine, GpuPairs pairs, int gpus) {
        fact(NvlinkFacts.ATOMICS, mine, peer -> peer.possible() && peer.linked(), pairs.names());
        return List.of(visible(gpus, pairs), domain(mine, pairs));
    }

    private static Check visible(int gpus, GpuPairs pairs) {
        List<String> hidden = pairs.hidden();
        String seen = gpus + " GPUs visible";
        return hidden.isEmpty()
                ? Check.pass(VISIBLE, seen + ", all that this machine or container has")
                : Check.pass(
                        VISIBLE,
                        seen + "; CUDA_VISIBLE_DEVICES hides the GPUs at " + String.join(", ", hidden)
                                + ", which ranks of other processes may still use");
    }

    private Check domain(VisibleGpu mine, GpuPairs pairs) {
        String clique = pairs.clique(mine);
        List<String> channels = files.list(LinuxTopology.IMEX_CHANNELS);
        boolean usable = mine.fabric() && !channels.isEmpty();
        fact(NvlinkFacts.FABRIC, usable ? PeerFacts.YES : PeerFacts.NO);
        if (clique.isEmpty()) {
            return Check.pass(DOMAIN, "NVLink connects only GPUs of this host");
        }
        String state = "NVLink domain " + clique + ", fabric handles " + (mine.fabric() ? "supported" : "not supported")
                + ", IMEX channels: " + (channels.isEmpty() ? "none" : String.join(", ", channels));
        return usable
                ? Check.pass(DOMAIN, state)
                : Check.warn(
                        DOMAIN,
                        state + "; so NVLink is used only within the host",
                        mine.fabric()
                                ? "start nvidia-imex on all hosts of the domain and give the container a channel from"
                                        + " the folder "
                                        + LinuxTopology.IMEX_CHANNELS
                                : "install a driver that supports fabric handles (550 or newer)");
    }
}
