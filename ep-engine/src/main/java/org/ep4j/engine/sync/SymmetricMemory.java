package org.ep4j.engine.sync;

import java.util.Map;
import java.util.Optional;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPath;
import org.ep4j.spi.HostPosted;

/**
 * The symmetric memory of all ranks, as one rank reaches it.
 *
 * @param rank this one
 * @param local its memory
 * @param mapped memory of the peers that it maps
 * @param postedTo by which it writes the other peers
 * @param postedFrom by which it reads the counters of peers that do not map its memory
 * @param window the memory that posting peers write and are written from, where it is not {@code local}
 */
public record SymmetricMemory(
        int rank,
        DeviceMemory local,
        Map<Integer, DeviceMemory> mapped,
        Map<Integer, HostPosted> postedTo,
        Map<Integer, HostPosted> postedFrom,
        Optional<Window> window) {
    public SymmetricMemory {
        // Looked up for each write, which costs less than in the sorted maps of the caller.
        mapped = Map.copyOf(mapped);
        postedTo = Map.copyOf(postedTo);
        postedFrom = Map.copyOf(postedFrom);
    }

    /**
     * Memory beside the symmetric one, with announcements at the same offsets.
     *
     * @param memory all of it
     * @param counters words with counters at the same offsets, by the kind of path from the peer that advances them
     * @param staging offset of the staging buffer of rank 0; those of the others follow
     * @param stagingBytes of each rank
     */
    public record Window(
            DeviceMemory memory, Map<EpPath.Kind, DeviceMemory> counters, long staging, long stagingBytes) {
        public Window {
            counters = Map.copyOf(counters);
        }
    }

    /** Without a window. */
    public SymmetricMemory(
            int rank,
            DeviceMemory local,
            Map<Integer, DeviceMemory> mapped,
            Map<Integer, HostPosted> postedTo,
            Map<Integer, HostPosted> postedFrom) {
        this(rank, local, mapped, postedTo, postedFrom, Optional.empty());
    }
}
