package org.ep4j.engine.topology;

import java.util.List;
import java.util.Optional;
import org.ep4j.topology.PciAddress;

/**
 * A GPU as HIP shows it.
 *
 * @param ordinal number in HIP
 * @param address its PCI function, with partitions as functions; empty when HIP does not say
 * @param name name for people; empty when HIP does not say
 * @param links ways to GPUs of higher ordinals
 */
record HipGpu(int ordinal, Optional<PciAddress> address, String name, List<Way> links) {
    /** Copies the list. */
    HipGpu {
        links = List.copyOf(links);
    }

    /**
     * A way to another GPU.
     *
     * @param to its ordinal
     * @param xgmi true for xGMI, false for PCIe and others
     * @param hops links on the way, at least 1
     */
    record Way(int to, boolean xgmi, int hops) {}
}
