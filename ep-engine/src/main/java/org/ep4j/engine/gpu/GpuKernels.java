package org.ep4j.engine.gpu;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.HashMap;
import java.util.Map;

/**
 * Kernels of any source, for applications that want their own beside dispatch and combine. The source is written in the
 * names of the dialect ({@code cuda.cu}); every kernel has one argument, {@code struct Op}, which the source defines with
 * fields of 8 bytes each. One thread at a time.
 */
public final class GpuKernels implements AutoCloseable {
    /** The most arguments of a kernel. */
    private static final int MOST = 64;

    private final GpuDevice device;
    private final GpuModule module;
    private final Map<String, Kernel> kernels = new HashMap<>();

    /** The list of the addresses of arguments, which has one entry, and the argument behind it. */
    private final Memory parameters = new Memory(8L + 8L * MOST);

    private record Kernel(long function, int sharedBytes) {}

    private GpuKernels(GpuDevice device, GpuModule module) {
        this.device = device;
        this.module = module;
        parameters.setLong(0, Pointer.nativeValue(parameters) + 8);
    }

    /**
     * Compiles, or takes from the cache, and loads.
     *
     * @param name of the source, for messages
     * @throws org.ep4j.EpUnavailableException when there is no compiler
     */
    public static GpuKernels load(GpuDevice device, String name, String source) {
        return new GpuKernels(device, device.load(name, source));
    }

    /**
     * Queues a kernel.
     *
     * @param blocks of the grid
     * @param threads of a block
     * @param sharedBytes dynamic shared memory of a block
     * @param fields of its {@code struct Op}, in order
     */
    public void launch(String name, int blocks, int threads, int sharedBytes, long stream, long... fields) {
        Kernel kernel = kernels.get(name);
        if (kernel == null || kernel.sharedBytes() < sharedBytes) {
            kernel = new Kernel(module.kernel(name, sharedBytes), sharedBytes);
            kernels.put(name, kernel);
        }
        parameters.write(8, fields, 0, fields.length);
        device.launch(kernel.function(), blocks, threads, sharedBytes, stream, Pointer.nativeValue(parameters));
    }

    @Override
    public void close() {
        module.close();
        parameters.close();
    }
}
