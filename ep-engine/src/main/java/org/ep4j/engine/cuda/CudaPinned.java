package org.ep4j.engine.cuda;

import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.engine.gpu.PinnedMemory;
import org.ep4j.engine.memory.HostMemory;

/** Host memory that is mapped for all GPUs of the process. */
final class CudaPinned implements PinnedMemory {
    /** {@code CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP}. */
    private static final int PORTABLE_AND_MAPPED = 1 | 2;

    private final CudaContext context;
    private final long host;
    private final long mapped;
    private final HostMemory memory;
    private final AtomicBoolean closed = new AtomicBoolean();

    CudaPinned(CudaContext context, Device device, long bytes) {
        this.context = context;
        CudaDriver driver = context.driver();
        long[] address = new long[1];
        context.call(
                "cuMemHostAlloc of " + bytes + " bytes for " + device,
                () -> driver.cuMemHostAlloc(address, bytes, PORTABLE_AND_MAPPED));
        host = address[0];
        long[] seen = new long[1];
        try {
            context.call("cuMemHostGetDevicePointer", () -> driver.cuMemHostGetDevicePointer_v2(seen, host, 0));
        } catch (RuntimeException e) {
            context.result(() -> driver.cuMemFreeHost(host));
            throw e;
        }
        mapped = seen[0];
        memory = HostMemory.of(new DeviceMemory(host, bytes, Device.HOST));
        memory.zero(0, bytes);
    }

    @Override
    public HostMemory memory() {
        if (closed.get()) {
            throw new EpStateException("this memory is freed, its buffer is closed; create another one");
        }
        return memory;
    }

    @Override
    public long hostAddress() {
        return host;
    }

    @Override
    public long deviceAddress() {
        return mapped;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true) && !context.isKept()) {
            context.call("cuMemFreeHost", () -> context.driver().cuMemFreeHost(host));
        }
    }
}
