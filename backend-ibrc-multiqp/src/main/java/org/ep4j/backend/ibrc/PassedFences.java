package org.ep4j.backend.ibrc;

/** Which fences of a peer its lanes to this rank have passed. Safe for use from several threads. */
final class PassedFences {
    private final LinkMemory memory;
    private final int lanes;
    private volatile long passed;

    PassedFences(LinkMemory memory, int lanes) {
        this.memory = memory;
        this.lanes = lanes;
    }

    /** True when all lanes have passed the fences that the peer tells of; read after its counter. */
    boolean all() {
        long told = memory.fences();
        if (told <= passed) {
            return true;
        }
        for (int lane = 0; lane < lanes; lane++) {
            if (memory.lanePassed(lane) < told) {
                return false;
            }
        }
        passed = told;
        return true;
    }
}
