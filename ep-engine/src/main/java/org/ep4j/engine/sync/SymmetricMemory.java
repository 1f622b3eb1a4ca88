package org.ep4j.engine.sync;

import java.util.Map;
import java.util.Optional;
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
 * @param window the memory that posting peers write and are written from, where it is not {@code local}
 */
public record SymmetricMemory(
        int rank,
        DeviceMemory local,
        Map<Integer, DeviceMemory> mapped,
        Map<Integer, HostPosted> postedTo,
        Map<Integer, HostPosted> postedFrom,
        Optional<Window> window) {
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
            DeviceMemory local,
            Map<Integer, DeviceMemory> mapped,
            Map<Integer, HostPosted> postedTo,
            Map<Integer, HostPosted> postedFrom) {
        this(rank, local, mapped, postedTo, postedFrom, Optional.empty());
    }

    public SymmetricMemory {
        mapped = Map.copyOf(mapped);
        postedTo = Map.copyOf(postedTo);
        postedFrom = Map.copyOf(postedFrom);
    }
}
