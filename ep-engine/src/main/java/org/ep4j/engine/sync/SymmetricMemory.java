package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.DeviceMemory;
import org.ep4j.spi.HostPosted;

/**
 * The symmetric memory of all ranks, as one rank reaches it.
 *
 * @param rank this one
 * @param local its memory
 * @param mapped memory of the peers that it maps
 * @param postedTo how it writes the other peers
 * @param postedFrom how peers that do not map this rank's memory tell it that they have written there
 */
public record SymmetricMemory(
        int rank,
        DeviceMemory local,
        Map<Integer, DeviceMemory> mapped,
        Map<Integer, HostPosted> postedTo,
        Map<Integer, HostPosted> postedFrom) {
    /** Copies the maps. */
    public SymmetricMemory {
        mapped = Map.copyOf(mapped);
        postedTo = Map.copyOf(postedTo);
        postedFrom = Map.copyOf(postedFrom);
    }

    /** All memory is mapped: that of every rank, this one's among them. */
    public static SymmetricMemory allMapped(int rank, List<DeviceMemory> memory) {
        Map<Integer, DeviceMemory> peers = new TreeMap<>();
        for (int r = 0; r < memory.size(); r++) {
            if (r != rank) {
                peers.put(r, memory.get(r));
            }
        }
        return new SymmetricMemory(rank, memory.get(rank), peers, Map.of(), Map.of());
    }

    /** Ranks, this one among them. */
    public int ranks() {
        return 1 + mapped.size() + postedTo.size();
    }

    /** The memory that this rank writes by stores: a mapped peer's own, otherwise this rank's. */
    public List<DeviceMemory> stored() {
        List<DeviceMemory> all = new ArrayList<>();
        for (int r = 0; r < ranks(); r++) {
            all.add(mapped.getOrDefault(r, local));
        }
        return all;
    }
}
