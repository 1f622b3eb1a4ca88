package org.ep4j.topology.read;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.model.PciAddress;

/**
 * A node of AMD's compute driver: a CPU, a GPU, a partition of a GPU, or a CPU and a GPU in one package.
 *
 * @param number its number
 * @param properties what the driver tells of it, by name
 * @param links ways to other nodes, of {@code io_links} and of {@code p2p_links}
 */
public record KfdNode(int number, Map<String, Long> properties, List<KfdLink> links) {
    public KfdNode {
        properties = Map.copyOf(properties);
        links = List.copyOf(links);
    }

    /** A property, 0 when it is missing. */
    public long get(String property) {
        return properties.getOrDefault(property, 0L);
    }

    /** Returns true for a GPU, or a partition of one. */
    public boolean gpu() {
        return get("simd_count") > 0;
    }

    /** Returns true for a CPU, or for a GPU in the same package as a CPU. */
    public boolean processor() {
        return get("cpu_cores_count") > 0;
    }

    /**
     * PCI address of the node: {@code location_id} contains bus, device and function. A partition has its number as
     * function, or, with newer drivers, in bits 28 to 31; there need be no such function on PCI.
     */
    public Optional<PciAddress> address() {
        long place = get("location_id") & 0xffff_ffffL;
        int partition = (int) (place >> 28) & 7;
        int function = partition > 0 ? partition : (int) place & 7;
        return (place & 0xffff) == 0 || (place & 0xfff_0000L) != 0
                ? Optional.empty()
                : Optional.of(new PciAddress(
                        get("domain") & 0xffff_ffffL, (int) (place >> 8) & 0xff, (int) (place >> 3) & 0x1f, function));
    }

    /** PCI address with function 0, equal for all partitions of one package; empty if unknown. */
    public String card() {
        return address().map(at -> at.card().toString()).orElse("");
    }

    /** Name of the instruction set of the GPU: 90402 is {@code gfx942}, 90010 is {@code gfx90a}. */
    public String architecture() {
        long version = get("gfx_target_version");
        return version <= 0
                ? ""
                : "gfx" + version / 10000 + Long.toHexString(version / 100 % 100) + Long.toHexString(version % 100);
    }
}
