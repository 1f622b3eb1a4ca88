package org.ep4j.engine.gpu;

/**
 * What must happen after the host has counted what a NIC wrote into memory of a GPU, and before it tells the GPU's kernels: the
 * completion that the host has seen says nothing of what the GPU sees.
 */
enum NicWrites {
    /** Nothing: the GPU sees them in order, as from compute capability 9.0 on. */
    ORDERED,
    /** A flush by the host, as before that. */
    FLUSHED,
    /** There is nothing that could: NICs must not write into its memory. */
    REFUSED;

    static NicWrites of(GpuDirect facts) {
        if (!facts.supported()) {
            return REFUSED;
        }
        if (facts.writesOrdering() >= GpuDirect.OWNER) {
            return ORDERED;
        }
        return (facts.flushOptions() & GpuDirect.BY_HOST) != 0 ? FLUSHED : REFUSED;
    }
}
