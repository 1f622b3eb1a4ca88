package org.ep4j.gpu.hip;

import com.sun.jna.Function;
import com.sun.jna.NativeLibrary;
import java.util.Optional;
import org.ep4j.DeviceMemory;
import org.ep4j.EpException;
import org.ep4j.gpu.driver.DriverContext;
import org.ep4j.spi.ExposedMemory;

/**
 * The call that gives memory of AMD GPUs out as dma-buf: HIP's own, from ROCm 7.0 on, else that of the HSA runtime below it,
 * which is older. Both are looked for in the library of HIP and those that it links to, so that they are of one installation.
 */
final class HipDmaBuf {
    /** {@code hip_runtime_api.h}: handle, address, bytes, type, flags; a {@code hipError_t}. */
    static final String HIP = "hipMemGetHandleForAddressRange";

    /** {@code hsa_ext_amd.h}: address, bytes, descriptor, offset; a {@code hsa_status_t}. */
    static final String HSA = "hsa_amd_portable_export_dmabuf";

    /** {@code hipMemRangeHandleTypeDmaBufFd}. */
    private static final int DMA_BUF = 1;

    private final Function call;
    private final boolean hip;

    private HipDmaBuf(Function call, boolean hip) {
        this.call = call;
        this.hip = hip;
    }

    /** That of an installation; empty where it has none. */
    static Optional<HipDmaBuf> of(NativeLibrary library) {
        return hip(library).or(() -> hsa(library));
    }

    static Optional<HipDmaBuf> hip(NativeLibrary library) {
        return find(library, HIP).map(call -> new HipDmaBuf(call, true));
    }

    static Optional<HipDmaBuf> hsa(NativeLibrary library) {
        return find(library, HSA).map(call -> new HipDmaBuf(call, false));
    }

    private static Optional<Function> find(NativeLibrary library, String name) {
        try {
            return Optional.of(library.getFunction(name));
        } catch (UnsatisfiedLinkError e) {
            return Optional.empty();
        }
    }

    /**
     * Gives memory out.
     *
     * @param memory the start of an allocation of its own
     * @param bytes of it
     * @return a descriptor that the caller closes
     */
    ExposedMemory.DmaBuf export(DriverContext context, DeviceMemory memory, long bytes) {
        int[] descriptor = new int[1];
        if (hip) {
            context.call(
                    HIP + " of " + memory + " as dma-buf",
                    () -> call.invokeInt(new Object[] {descriptor, memory.address(), bytes, DMA_BUF, 0L}));
            return new ExposedMemory.DmaBuf(descriptor[0], 0);
        }
        long[] offset = new long[1];
        int result = context.result(() -> call.invokeInt(new Object[] {memory.address(), bytes, descriptor, offset}));
        if (result != 0) {
            throw new EpException(
                    HSA + " of " + memory + " failed: hsa_status_t 0x" + Integer.toHexString(result)
                            + "; see the kernel's log, and check that the kernel has CONFIG_PCI_P2PDMA and CONFIG_DMABUF_MOVE_NOTIFY");
        }
        return new ExposedMemory.DmaBuf(descriptor[0], offset[0]);
    }
}
