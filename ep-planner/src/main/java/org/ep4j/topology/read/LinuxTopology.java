package org.ep4j.topology.read;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.ep4j.topology.GpuVendor;
import org.ep4j.topology.model.Topology;

/**
 * Reads a machine from what Linux shows of it: the PCIe tree, NUMA nodes, verbs devices, Ethernet interfaces, and GPUs
 * (AMD GPUs with their xGMI links). NVLinks are not there; NVML knows them.
 *
 * <p>GPUs of NVIDIA are in the order of their PCI addresses, those of AMD in the order of KFD's nodes and after them. What is
 * missing is no error: a container without {@code /sys} is a machine without devices.
 */
public final class LinuxTopology {
    /**
     * Folder with the channels of NVIDIA's IMEX service that a process may use. Through them GPUs of one NVLink domain
     * share memory beyond their host; a process without a channel cannot share (NVIDIA's IMEX documentation).
     */
    public static final String IMEX_CHANNELS = "/dev/nvidia-caps-imex-channels";

    private LinuxTopology() {}

    /**
     * Reads a machine. {@code NCCL_TOPO_FILE} in {@code environment} may name a file in which the cloud provider describes
     * the PCI tree of a virtual machine.
     *
     * @param source name of it for messages
     * @param files {@code /sys} and {@code /proc} of it, and {@code /var/run}, where a cloud provider may describe its PCI tree
     * @param environment variables of the process
     */
    public static Topology read(String source, FileTree files, Map<String, String> environment) {
        return ProviderTree.apply(shown(source, files), files, environment);
    }

    /** Makers of the GPUs that are on PCI, whether processes can use them or not. */
    public static Set<GpuVendor> gpuVendors(FileTree files) {
        return PciGpus.vendors(files);
    }

    private static Topology shown(String source, FileTree files) {
        Topology.Builder builder = Topology.builder(source);
        int host = builder.host(files.text("/proc/sys/kernel/hostname").orElse(""));
        SysFiles sys = new SysFiles(files);
        NumaNodes numa = new NumaNodes(files, builder, host);
        PciTree pci = new PciTree(sys, builder, host, numa);
        List<PciGpus.Found> found = PciGpus.find(sys, pci, builder);
        int gpus = 0;
        for (PciGpus.Found gpu : found) {
            if (gpu.vendor() == GpuVendor.NVIDIA) {
                pci.attach(PciGpus.gpu(sys, pci, gpu, host, gpus++), gpu.place());
            }
        }
        int compute = new KfdGpus(sys, pci, numa, builder, host).add(gpus);
        gpus += compute;
        for (PciGpus.Found gpu : found) {
            if (compute == 0 && gpu.vendor() == GpuVendor.AMD) {
                pci.attach(PciGpus.gpu(sys, pci, gpu, host, gpus++), gpu.place());
            }
        }
        NetworkInterfaces interfaces = new NetworkInterfaces(sys);
        UnknownRates unknownRates = new UnknownRates();
        new LinuxNics(sys, pci, interfaces, unknownRates, builder, host).add();
        unknownRates.finish(builder);
        return builder.build();
    }
}
