package org.ep4j.transport;

import java.util.Map;
import org.ep4j.DeviceMemory;

/** One symmetric buffer on one rank, as a transport allocates and maps it. */
public interface SymmetricAllocation {
    /**
     * Allocates this rank's memory, zeroed, and maps that of the peers, in steps that all ranks of the backend take. When
     * it throws, {@link #undo} follows.
     *
     * @param check refuses wrong arguments on this rank; part of the first step, so that it fails on all
     * @param bytes size on every rank
     * @return memory by rank: this one's, and that of every rank that the plan connects it to over the backend
     */
    Map<Integer, DeviceMemory> make(Runnable check, long bytes, Deadline deadline);

    /** Gives back everything, local: never waits for other ranks and never throws. */
    void undo();
}
