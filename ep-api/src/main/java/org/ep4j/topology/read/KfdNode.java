package org.ep4j.topology.read;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.topology.PciAddress;

/**
 * A node of AMD's compute driver: a processor, a GPU or one partition of a GPU, or both in one package.
 *
 * @param number its number
 * @param properties what the driver tells of it, by name
 * @param links ways to other nodes, of {@code io_links} and of {@code p2p_links}
 */
record KfdNode(int number, Map<String, Long> properties, List<KfdLink> links) {
    /** A property, 0 when it is missing. */
    long get(String property) {
        return properties.getOrDefault(property, 0L);
    }

    boolean gpu() {
        return get("simd_count") > 0;
    }

    boolean processor() {
        return get("cpu_cores_count") > 0;
    }

    /**
     * Where it is: {@code location_id} holds bus, device and function. The function is that of the partition, and there need
     * be no such function on PCI.
     */
    Optional<PciAddress> address() {
        long place = get("location_id");
        return place <= 0 || place > 0xffff
                ? Optional.empty()
                : Optional.of(new PciAddress(
                        get("domain") & 0xffff_ffffL, (int) (place >> 8), (int) (place >> 3) & 0x1f, (int) place & 7));
    }

    /** Name of its instruction set: 90402 is {@code gfx942}, 90010 is {@code gfx90a}. */
    String architecture() {
        long version = get("gfx_target_version");
        return version <= 0
                ? ""
                : "gfx" + version / 10000 + Long.toHexString(version / 100 % 100) + Long.toHexString(version % 100);
    }
}
