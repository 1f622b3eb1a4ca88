package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.HashMap;
import java.util.Map;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.GpuModule;
import org.ep4j.transport.memory.HostMemory;

/** Launches the kernels of one buffer. One thread at a time. */
final class Launcher {
    private final EngineGpu device;
    private final Map<String, Kernel> kernels = new HashMap<>();

    /** The list of the addresses of arguments, which has one entry, and the argument behind it. */
    private final ByteBuffer memory =
            ByteBuffer.allocateDirect(8 + 8 * Arguments.COUNT).order(ByteOrder.nativeOrder());

    private final LongBuffer parameters = memory.asLongBuffer();
    private final long list = HostMemory.address(memory);

    private record Kernel(GpuModule module, long function, int sharedBytes) {}

    /** @param modules by the names of their kernels */
    Launcher(EngineGpu device, Map<String, GpuModule> modules) {
        this.device = device;
        parameters.put(0, list + 8);
        // Loading a kernel at its first launch may wait for running kernels, which may wait for this one.
        modules.forEach((name, module) -> kernels.put(name, new Kernel(module, module.kernel(name, 0), 0)));
    }

    void launch(
            String name, int blocks, int threads, int sharedBytes, long stream, Arguments arguments, boolean overlaps) {
        Kernel kernel = kernels.get(name);
        if (kernel == null) {
            throw new IllegalArgumentException("no kernel " + name + " among " + kernels.keySet());
        }
        if (kernel.sharedBytes() < sharedBytes) {
            GpuModule module = kernel.module();
            kernel = new Kernel(module, module.kernel(name, sharedBytes), sharedBytes);
            kernels.put(name, kernel);
        }
        parameters.position(1).put(arguments.values());
        if (overlaps) {
            device.launchOverlapping(kernel.function(), blocks, threads, sharedBytes, stream, list);
        } else {
            device.launch(kernel.function(), blocks, threads, sharedBytes, stream, list);
        }
    }
}
