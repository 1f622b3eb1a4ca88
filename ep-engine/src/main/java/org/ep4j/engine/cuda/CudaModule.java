package org.ep4j.engine.cuda;

import org.ep4j.engine.gpu.GpuModule;

/** A module of kernels that is loaded on one GPU. */
final class CudaModule implements GpuModule {
    private static final int REGISTERS = 4;
    private static final int MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;

    private final CudaContext context;
    private final long handle;

    /** @param code machine code, or PTX that ends with a zero byte */
    CudaModule(CudaContext context, byte[] code) {
        this.context = context;
        long[] module = new long[1];
        context.call("cuModuleLoadData", () -> context.driver().cuModuleLoadData(module, code));
        handle = module[0];
    }

    @Override
    public long kernel(String name, int sharedBytes) {
        long[] function = new long[1];
        CudaDriver driver = context.driver();
        context.call("cuModuleGetFunction of " + name, () -> driver.cuModuleGetFunction(function, handle, name));
        // Asking for anything of a kernel loads it, where the driver otherwise loads at the first launch.
        context.call(() -> "loading of " + name, () -> driver.cuFuncGetAttribute(new int[1], REGISTERS, function[0]));
        if (sharedBytes > 0) {
            context.call(
                    name + " with " + sharedBytes + " bytes of shared memory",
                    () -> driver.cuFuncSetAttribute(function[0], MAX_DYNAMIC_SHARED_SIZE_BYTES, sharedBytes));
        }
        return function[0];
    }

    @Override
    public void close() {
        context.call("cuModuleUnload", () -> context.driver().cuModuleUnload(handle));
    }
}
