package org.ep4j.engine.hip;

import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.topology.PciAddress;

/**
 * A GPU, or a partition of one, that HIP shows to this process.
 *
 * @param ordinal its number in this process, which says nothing in another one
 * @param name name for people
 * @param address its PCI function; partitions of one GPU have functions of their own, or all the same, as ROCm's version has
 *     it
 * @param architecture {@code gfx942}; empty when HIP does not tell
 * @param peers the other GPUs of the process, by ordinal
 */
public record HipGpu(
        int ordinal, String name, Optional<PciAddress> address, String architecture, Map<Integer, Way> peers) {
    /**
     * How a GPU reaches another.
     *
     * @param possible it can load and store the other's memory
     * @param xgmi true for xGMI; false for PCIe and others
     * @param hops links on the way, at least 1
     */
    public record Way(boolean possible, boolean xgmi, int hops) {}

    /** Copies the map. */
    public HipGpu {
        peers = Collections.unmodifiableMap(new TreeMap<>(peers));
    }
}
