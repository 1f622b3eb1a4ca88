package org.ep4j.topology.model;

import java.util.Optional;
import org.ep4j.topology.GpuVendor;

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
    /** Creates a builder for a GPU named {@code GPU} and its index, of which nothing else is known. */
    public static Builder builder(int host, int index, GpuVendor vendor) {
        return new Builder(host, index, vendor);
    }

    /** Creates a builder that begins with what is known of this GPU. */
    public Builder toBuilder() {
        return new Builder(host, index, vendor)
                .name(name)
                .address(address)
                .id(id)
                .architecture(architecture)
                .model(model)
                .numa(numa)
                .gpuDirect(gpuDirect)
                .clique(clique)
                .card(card);
    }

    /** Collects what is known of a GPU; the methods are named after the components of {@link Gpu}. */
    public static final class Builder {
        private final int host;
        private final GpuVendor vendor;
        private int index;
        private String name;
        private Optional<PciAddress> address = Optional.empty();
        private PciId id = PciId.UNKNOWN;
        private String architecture = "";
        private String model = "";
        private int numa = -1;
        private Optional<Boolean> gpuDirect = Optional.empty();
        private String clique = "";
        private String card = "";

        private Builder(int host, int index, GpuVendor vendor) {
            this.host = host;
            this.vendor = vendor;
            this.index = index;
            this.name = "GPU" + index;
        }

        /** Sets the number on the host, and leaves the name. */
        public Builder index(int number) {
            index = number;
            return this;
        }

        /** Sets the name in the source. */
        public Builder name(String text) {
            name = text;
            return this;
        }

        public Builder address(Optional<PciAddress> function) {
            address = function;
            return this;
        }

        public Builder id(PciId ids) {
            id = ids;
            return this;
        }

        /** Sets the architecture, as {@code sm_90} or {@code gfx942}. */
        public Builder architecture(String text) {
            architecture = text;
            return this;
        }

        /** Sets the name for people. */
        public Builder model(String text) {
            model = text;
            return this;
        }

        public Builder numa(int node) {
            numa = node;
            return this;
        }

        /** Sets whether NICs can reach the GPU's memory. */
        public Builder gpuDirect(Optional<Boolean> reachable) {
            gpuDirect = reachable;
            return this;
        }

        /** Sets the NVLink domain beyond the host. */
        public Builder clique(String domain) {
            clique = domain;
            return this;
        }

        /** Makes the GPU a partition of the card {@code whole}. */
        public Builder card(String whole) {
            card = whole;
            return this;
        }

        /** The finished GPU. */
        public Gpu build() {
            return new Gpu(host, index, name, address, id, vendor, architecture, model, numa, gpuDirect, clique, card);
        }
    }
}
