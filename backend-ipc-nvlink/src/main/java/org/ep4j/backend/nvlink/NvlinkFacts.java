package org.ep4j.backend.nvlink;

import org.ep4j.gpu.driver.PeerFacts;

/** What a rank tells the others about its GPU, beside what {@link PeerFacts} has. */
final class NvlinkFacts {
    /** GPUs on which the rank's GPU can do atomic operations: a sign of NVLink where nothing else tells. */
    static final String ATOMICS = "atomics";

    /** Whether memory can be shared with other hosts of the NVLink domain. */
    static final String FABRIC = "fabric";

    /** The facts of all ranks. */
    static final PeerFacts ALL = new PeerFacts(IpcNvlinkProvider.ID);

    private NvlinkFacts() {}
}
