package org.ep4j.gpu.topology;

import java.util.List;
import java.util.Optional;
import org.ep4j.topology.model.PciAddress;

/**
 * A GPU as NVML shows it.
 *
 * @param index number among the GPUs of NVML that this process may use, which are in the order of PCI addresses
 * @param address its PCI function
 * @param name name for people; empty when it cannot be read
 * @param capability CUDA compute capability, major times ten plus minor; -1 when it cannot be read
 * @param clique NVLink domain beyond the host, {@code cluster-uuid/clique-id}; empty when there is none
 * @param links active NVLinks for peer-to-peer traffic
 * @param chipLinks active NVLink-C2C links to the processor
 * @param chipMegabytes bandwidth of one of these, in megabytes a second
 */
record NvmlGpu(
        int index,
        PciAddress address,
        String name,
        int capability,
        String clique,
        List<Remote> links,
        int chipLinks,
        int chipMegabytes) {
    NvmlGpu {
        links = List.copyOf(links);
    }

    /**
     * The other end of an NVLink.
     *
     * @param address its PCI function; empty when it is hidden, as NVSwitches are from virtual machines
     * @param kind what it is, as far as NVML says
     */
    record Remote(Optional<PciAddress> address, Kind kind) {}

    /** What is at the other end; {@code nvmlIntNvLinkDeviceType_t}. */
    enum Kind {
        GPU,
        PROCESSOR,
        SWITCH,
        UNKNOWN
    }
}
