package org.ep4j.gpu;

import java.util.Objects;
import org.apiguardian.api.API;

/** Sizes of a GPU that kernels and launches are fitted to. Immutable. */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
public final class GpuInfo {
    private final String architecture;
    private final int multiprocessors;
    private final int sharedBytes;
    private final int warpSize;

    private GpuInfo(String architecture, int multiprocessors, int sharedBytes, int warpSize) {
        this.architecture = architecture;
        this.multiprocessors = multiprocessors;
        this.sharedBytes = sharedBytes;
        this.warpSize = warpSize;
    }

    /** Returns the description of a GPU; the parameters are the properties of the same names. */
    public static GpuInfo of(String architecture, int multiprocessors, int sharedBytes, int warpSize) {
        return new GpuInfo(architecture, multiprocessors, sharedBytes, warpSize);
    }

    /** Architecture as compilers name it: {@code sm_90}, {@code gfx942}. */
    public String architecture() {
        return architecture;
    }

    /** Number of streaming multiprocessors, or of compute units. */
    public int multiprocessors() {
        return multiprocessors;
    }

    /** Most shared memory of a block in bytes, static and dynamic together. */
    public int sharedBytes() {
        return sharedBytes;
    }

    /** Threads of a warp, or of a wavefront: 32 or 64. */
    public int warpSize() {
        return warpSize;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof GpuInfo that
                && architecture.equals(that.architecture)
                && multiprocessors == that.multiprocessors
                && sharedBytes == that.sharedBytes
                && warpSize == that.warpSize;
    }

    @Override
    public int hashCode() {
        return Objects.hash(architecture, multiprocessors, sharedBytes, warpSize);
    }

    @Override
    public String toString() {
        return architecture + " with " + multiprocessors + " multiprocessors, " + sharedBytes
                + " bytes of shared memory for each block, warps of " + warpSize + " threads";
    }
}
