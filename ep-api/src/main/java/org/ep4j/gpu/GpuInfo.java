package org.ep4j.gpu;

/** Sizes of a GPU that kernels and launches are fitted to. Immutable. */
public sealed interface GpuInfo {
    /** Returns the description of a GPU; the parameters are the properties of the same names. */
    static GpuInfo of(String architecture, int multiprocessors, int sharedBytes, int warpSize) {
        return new GpuInfoValue(architecture, multiprocessors, sharedBytes, warpSize);
    }

    /** Architecture as compilers name it: {@code sm_90}, {@code gfx942}. */
    String architecture();

    /** Number of streaming multiprocessors, or of compute units. */
    int multiprocessors();

    /** Most shared memory of a block in bytes, static and dynamic together. */
    int sharedBytes();

    /** Threads of a warp, or of a wavefront: 32 or 64. */
    int warpSize();
}

record GpuInfoValue(String architecture, int multiprocessors, int sharedBytes, int warpSize) implements GpuInfo {
    @Override
    public String toString() {
        return architecture + " with " + multiprocessors + " multiprocessors, " + sharedBytes
                + " bytes of shared memory for each block, warps of " + warpSize + " threads";
    }
}
