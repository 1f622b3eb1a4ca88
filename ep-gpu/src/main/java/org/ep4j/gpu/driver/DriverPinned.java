package org.ep4j.gpu.driver;

import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpStateException;
import org.ep4j.transport.memory.HostMemory;

/** Host memory that is mapped for all GPUs of the process. */
final class DriverPinned implements PinnedMemory {
    private final DriverContext context;
    private final long host;
    private final long mapped;
    private final HostMemory memory;
    private final AtomicBoolean closed = new AtomicBoolean();

    DriverPinned(DriverContext context, Device device, long bytes) {
        this.context = context;
        GpuDriver driver = context.driver();
        long[] address = new long[1];
        context.call(
                "allocation of " + bytes + " bytes of pinned host memory for " + device,
                () -> driver.allocatePinned(address, bytes));
        host = address[0];
        long[] seen = new long[1];
        try {
            context.call("address of pinned memory", () -> driver.mappedAddress(seen, host));
        } catch (RuntimeException | Error e) {
            context.result(() -> driver.freePinned(host));
            throw e;
        }
        mapped = seen[0];
        memory = HostMemory.of(DeviceMemory.of(host, bytes, Device.HOST));
        memory.zero(0, bytes);
    }

    @Override
    public HostMemory memory() {
        if (closed.get()) {
            throw new EpStateException("this memory is freed because its buffer is closed; create another buffer");
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
            context.call("freeing of pinned memory", () -> context.driver().freePinned(host));
        }
    }
}
