package org.ep4j.gpu.driver;

import org.ep4j.EpArgumentException;

/** Kernels that are loaded on one GPU. */
public final class GpuModule implements AutoCloseable {
    private final DriverContext context;
    private final long handle;

    /** @param code what the driver loads */
    public GpuModule(DriverContext context, byte[] code) {
        this.context = context;
        handle = context.read(
                () -> "loading machine code", out -> context.driver().moduleLoadData(out, code));
    }

    /** A kernel by its name, allowed {@code sharedBytes} of dynamic shared memory. */
    public long kernel(String name, int sharedBytes) {
        long[] function = new long[1];
        GpuDriver driver = context.driver();
        int result = context.result(() -> driver.moduleGetFunction(function, handle, name));
        if (result == DriverErrors.NOT_FOUND) {
            throw new EpArgumentException(
                    "kernel", name, "one that the source defines", "check its name, and that EP_KERNEL defines it");
        }
        context.errors().check(result, "looking for the kernel " + name);
        context.call(
                () -> "loading of " + name,
                () -> driver.funcGetAttribute(new int[1], GpuDriver.MAX_THREADS_PER_BLOCK, function[0]));
        if (sharedBytes > 0) {
            context.call(
                    "allowing the kernel " + name + " to use " + sharedBytes + " bytes of shared memory",
                    () -> driver.allowShared(function[0], sharedBytes));
        }
        return function[0];
    }

    public long handle() {
        return handle;
    }

    /** Unloads the kernels, none of which may be running. */
    @Override
    public void close() {
        context.call("unloading machine code", () -> context.driver().moduleUnload(handle));
    }
}
