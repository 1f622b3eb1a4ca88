package org.ep4j.backend.nvlink;

import org.ep4j.gpu.driver.PeerFacts;

/** Facts that a rank sends to the others about its GPU, beside those of {@link PeerFacts}. */
final class NvlinkFacts {
    /** GPUs on which the rank's GPU can do atomic operations: a sign of NVLink if no other source shows it. */
    static final String ATOMICS = "atomics";

    /** Says whether memory can be shared with other hosts of the NVLink domain: yes or no. */
    static final String FABRIC = "fabric";

    /** The facts of all ranks. */
    static final PeerFacts ALL = new PeerFacts(IpcNvlinkProvider.ID);

    private NvlinkFacts() {}
}
