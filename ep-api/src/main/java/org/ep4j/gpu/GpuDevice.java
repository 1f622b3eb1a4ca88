package org.ep4j.gpu;

import org.ep4j.EpDevice;
import org.ep4j.EpUnavailableException;

/**
 * A GPU of a group: streams, events and kernels beside memory and copies. What is created here ends by its own {@code close}, before the
 * group is closed. Safe for use from several threads.
 *
 * <p>All calls throw {@link org.ep4j.EpStateException} once the group is closed, and {@link org.ep4j.EpException} with the driver's number
 * when the driver refuses.
 *
 * <p>Only ep4j implements this interface; it may gain methods.
 */
public interface GpuDevice extends EpDevice {
    /**
     * Returns the device of a group as a GPU.
     *
     * @throws EpUnavailableException when it is the host: see {@link #isGpu}
     */
    static GpuDevice of(EpDevice device) {
        if (device instanceof GpuDevice gpu) {
            return gpu;
        }
        throw new EpUnavailableException(device.id() + " is not a GPU; set ep.device to cuda or hip");
    }

    /** Returns true if a device is a GPU. */
    static boolean isGpu(EpDevice device) {
        return device instanceof GpuDevice;
    }

    /** Sizes of this GPU that kernels and launches are fitted to. */
    GpuInfo info();

    /** Creates a stream that does not synchronize with any other stream, not with stream 0 either. */
    GpuStream createStream();

    /**
     * Returns a stream of the caller, which {@link GpuStream#close} does not destroy.
     *
     * @param handle {@code CUstream} or {@code hipStream_t} of this GPU; 0, 1 and 2 are the default, the legacy and the per-thread stream
     */
    GpuStream stream(long handle);

    /** Creates an event that can be recorded again and again. */
    GpuEvent createEvent();

    /**
     * Compiles kernels, or takes them from the cache, and loads them. The source is written with the macros and types of ep4j ({@code
     * EP_KERNEL}, {@code EP_DEVICE}, {@code u16}, {@code i64}), which are the same for both vendors. Each kernel has one argument, {@code
     * struct Op}, which the source defines with fields of 8 bytes each.
     *
     * @param name of the source, for messages: {@code experts.cu}
     * @throws EpUnavailableException when there is no compiler
     * @throws org.ep4j.EpException with the compiler's messages, when the source does not compile
     */
    GpuKernels compile(String name, String source);
}
