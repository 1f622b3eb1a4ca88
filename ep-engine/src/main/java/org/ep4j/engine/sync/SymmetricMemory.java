package org.ep4j.engine.sync;

import java.util.Map;
import org.ep4j.DeviceMemory;
import org.ep4j.spi.HostPosted;

/**
 * The symmetric memory of all ranks, as one rank reaches it.
 *
 * @param rank this one
 * @param ranks of the group; those that are lost are in none of the maps
 * @param local its memory
 * @param mapped memory of the peers that it maps
 * @param postedTo how it writes the other peers
 * @param postedFrom how peers that do not map this rank's memory tell it that they have written there
 * @param windowTo the memory from which a peer that is posted to is written, where it is not {@code local}
 * @param windowFrom the memory that a peer that posts writes, where it is not {@code local}
 */
public record SymmetricMemory(
        int rank,
        int ranks,
        DeviceMemory local,
        Map<Integer, DeviceMemory> mapped,
        Map<Integer, HostPosted> postedTo,
        Map<Integer, HostPosted> postedFrom,
        Map<Integer, Window> windowTo,
        Map<Integer, Window> windowFrom) {
    /**
     * Memory beside the symmetric one, with blocks at the same places.
     *
     * @param memory all of it
     * @param counters words with counters at the same places
     * @param staging where what is posted to rank 0 lies until it is sent; those of the others follow
     * @param stagingBytes of each rank
     */
    public record Window(DeviceMemory memory, DeviceMemory counters, long staging, long stagingBytes) {}

    /** What is posted lies in {@code local}. */
    public SymmetricMemory(
            int rank,
            int ranks,
            DeviceMemory local,
            Map<Integer, DeviceMemory> mapped,
            Map<Integer, HostPosted> postedTo,
            Map<Integer, HostPosted> postedFrom) {
        this(rank, ranks, local, mapped, postedTo, postedFrom, Map.of(), Map.of());
    }

    /** Copies the maps. */
    public SymmetricMemory {
        mapped = Map.copyOf(mapped);
        postedTo = Map.copyOf(postedTo);
        postedFrom = Map.copyOf(postedFrom);
        windowTo = Map.copyOf(windowTo);
        windowFrom = Map.copyOf(windowFrom);
    }

    /** The same memory, with what owns this rank's. */
    public SymmetricMemory withLocal(DeviceMemory owned) {
        return new SymmetricMemory(rank, ranks, owned, mapped, postedTo, postedFrom, windowTo, windowFrom);
    }
}
