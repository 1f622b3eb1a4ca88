package org.ep4j.topology;

import java.util.Optional;

/**
 * A GPU, or one partition of it where partitions are devices of their own.
 *
 * @param host index of its host
 * @param index number on its host in the order of use (NVML, HIP or rank order; bus order where nothing else is known)
 * @param name name in the source: {@code GPU0}, {@code cuda0}
 * @param address its PCI function; empty where the source has none (matrices as text)
 * @param id its PCI ids
 * @param vendor who made it
 * @param architecture {@code sm_90}, {@code gfx942}; empty when unknown
 * @param model name for people; empty when unknown
 * @param numa NUMA node; -1 when unknown
 * @param gpuDirect whether NICs can reach its memory; empty when the source does not say
 * @param clique NVLink domain beyond the host, as {@code cluster-uuid/clique-id}; empty when there is none
 * @param card equal for partitions of one GPU on the host, mostly its PCI address; empty for a GPU that is not divided
 */
public record Gpu(
        int host,
        int index,
        String name,
        Optional<PciAddress> address,
        PciId id,
        GpuVendor vendor,
        String architecture,
        String model,
        int numa,
        Optional<Boolean> gpuDirect,
        String clique,
        String card)
        implements Part {
    /** A GPU that is not divided into partitions. */
    public Gpu(
            int host,
            int index,
            String name,
            Optional<PciAddress> address,
            PciId id,
            GpuVendor vendor,
            String architecture,
            String model,
            int numa,
            Optional<Boolean> gpuDirect,
            String clique) {
        this(host, index, name, address, id, vendor, architecture, model, numa, gpuDirect, clique, "");
    }

    /** Returns a copy of this GPU as a partition of the card {@code whole}. */
    public Gpu partitionOf(String whole) {
        return new Gpu(host, index, name, address, id, vendor, architecture, model, numa, gpuDirect, clique, whole);
    }

    @Override
    public String label() {
        return name;
    }
}
