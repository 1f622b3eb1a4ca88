package org.ep4j.gpu.driver;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuStream;

/** A stream that does not wait for the legacy stream, or a stream of the caller. */
final class DriverStream implements GpuStream {
    private final DriverDevice device;
    private final long handle;
    private final boolean owned;
    private final AtomicBoolean closed = new AtomicBoolean();

    /** @param owned whether {@link #close} destroys the stream */
    DriverStream(DriverDevice device, long handle, boolean owned) {
        this.device = device;
        this.handle = handle;
        this.owned = owned;
    }

    /** The handle of a stream of {@code device}. */
    static long handle(GpuStream stream, Device device) {
        if (stream instanceof DriverStream own && own.device.id().equals(device)) {
            return own.handle();
        }
        throw new EpArgumentException(
                "stream",
                stream,
                "a stream of " + device,
                "take one of createStream() or stream(handle) of this device");
    }

    @Override
    public long handle() {
        if (closed.get()) {
            throw new EpStateException(this + " is closed; keep it open until its last use");
        }
        return handle;
    }

    @Override
    public void synchronize(Duration timeout) {
        long open = handle();
        if (device.isCapturing(open)) {
            throw new EpStateException(
                    this + " is being captured into a graph, and nothing of it runs before the graph is launched");
        }
        try (DriverEvent end = new DriverEvent(device, false)) {
            end.record(open);
            end.await(timeout);
        }
    }

    @Override
    public void waitFor(EpEvent event) {
        if (device.orderAfter(handle(), event)) {
            return;
        }
        if (!event.isDone()) {
            throw new EpArgumentException(
                    "event", "an event of the host that is not done", "an event of a GPU, or done", "await it first");
        }
        // Throws what it failed with.
        event.await(Duration.ZERO);
    }

    @Override
    public void copy(DeviceMemory to, DeviceMemory from) {
        device.checkHere(to);
        device.checkHere(from);
        if (from.byteSize() > to.byteSize()) {
            throw new EpArgumentException(
                    "from", from.byteSize() + " bytes", "at most the target's " + to.byteSize(), "copy a slice of it");
        }
        long open = handle();
        if (from.byteSize() > 0) {
            device.copy(to.address(), from.address(), from.byteSize(), open);
        }
    }

    @Override
    public void zero(DeviceMemory memory) {
        device.checkHere(memory);
        long open = handle();
        if (memory.byteSize() > 0) {
            device.zero(memory.address(), memory.byteSize(), open);
        }
    }

    @Override
    public GpuGraph capture(Runnable work) {
        return device.capture(handle(), work);
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true) && owned) {
            DriverContext context = device.context();
            context.call("destroying a stream", () -> context.driver().streamDestroy(handle));
        }
    }

    @Override
    public String toString() {
        return "stream 0x" + Long.toHexString(handle) + " of " + device.id();
    }
}
