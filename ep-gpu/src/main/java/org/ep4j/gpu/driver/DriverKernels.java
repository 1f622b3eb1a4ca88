package org.ep4j.gpu.driver;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.HashMap;
import java.util.Map;
import org.ep4j.EpArgumentException;
import org.ep4j.EpStateException;
import org.ep4j.gpu.GpuKernel;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;
import org.ep4j.transport.memory.HostMemory;

/** Kernels of an application, loaded on one GPU. */
final class DriverKernels implements GpuKernels {
    private final DriverDevice device;
    private final String source;
    private final GpuModule module;

    /** Dynamic shared memory that each kernel is allowed, which must not become less. */
    private final Map<String, Integer> allowed = new HashMap<>();

    private volatile boolean closed;

    DriverKernels(DriverDevice device, String source, GpuModule module) {
        this.device = device;
        this.source = source;
        this.module = module;
    }

    @Override
    public GpuKernel kernel(String name, int threads, int sharedBytes) {
        checkOpen();
        long found = module.kernel(name, 0);
        requireRange("threads", threads, 1, attribute(GpuDriver.MAX_THREADS_PER_BLOCK, found));
        int taken = attribute(GpuDriver.STATIC_SHARED_BYTES, found);
        requireRange("sharedBytes", sharedBytes, 0, device.info().sharedBytes() - taken);
        int most = Math.max(sharedBytes, allowed.getOrDefault(name, 0));
        long function = module.kernel(name, most);
        allowed.put(name, most);
        return new Kernel(function, threads, sharedBytes);
    }

    private int attribute(int attribute, long function) {
        DriverContext context = device.context();
        return context.errors()
                .read(
                        "querying the attributes of a kernel",
                        value -> context.result(() -> context.driver().funcGetAttribute(value, attribute, function)));
    }

    private static void requireRange(String name, int value, int least, int most) {
        if (value < least || value > most) {
            throw new EpArgumentException(name, value, "from " + least + " to " + most, "pass the sizes of a block");
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new EpStateException(
                    "the kernels of " + source + " are closed; keep them open until the last launch");
        }
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            module.close();
        }
    }

    private final class Kernel implements GpuKernel {
        private final long function;
        private final int threads;
        private final int sharedBytes;

        /** The list of the addresses of arguments, which has one entry, and the argument behind it. */
        private final ByteBuffer memory =
                ByteBuffer.allocateDirect(8 + 8 * MAX_FIELDS).order(ByteOrder.nativeOrder());

        private final LongBuffer parameters = memory.asLongBuffer();
        private final long list = HostMemory.address(memory);

        Kernel(long function, int threads, int sharedBytes) {
            this.function = function;
            this.threads = threads;
            this.sharedBytes = sharedBytes;
            parameters.put(0, list + 8);
        }

        @Override
        public void launch(GpuStream stream, int blocks, long... fields) {
            checkOpen();
            if (fields.length > MAX_FIELDS) {
                throw new EpArgumentException(
                        "fields",
                        fields.length + " fields",
                        "at most " + MAX_FIELDS,
                        "pass more of them by an address");
            }
            if (blocks < 1) {
                throw new EpArgumentException("blocks", blocks, ">= 1", "leave out a launch without work");
            }
            parameters.position(1).put(fields);
            while (parameters.hasRemaining()) {
                parameters.put(0);
            }
            try {
                device.launch(function, blocks, threads, sharedBytes, device.handle(stream), list);
            } finally {
                Reference.reachabilityFence(this);
            }
        }
    }
}
