package org.ep4j.gpu.driver;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpEvent;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.gpu.GpuEvent;
import org.ep4j.gpu.GpuGraph;
import org.ep4j.gpu.GpuInfo;
import org.ep4j.gpu.GpuKernels;
import org.ep4j.gpu.GpuStream;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/** One GPU: memory, copies and events in its context. Subclasses have what differs between vendors. */
public abstract class DriverDevice implements EngineGpu {
    private static final System.Logger LOG = System.getLogger(DriverDevice.class.getName());

    private static final int CAPTURE_MODE_RELAXED = 2;

    /** Handle of the legacy stream, which stream 0 is too. */
    private static final long LEGACY_STREAM = 1;

    private final DriverContext context;
    private final Device id;
    private final GpuInfo info;
    private final boolean hasPools;

    /** For memory that no other stream uses yet or any more; created at its first use. */
    private @Nullable DriverStream memoryStream;

    /** The recording of the calling thread. */
    private final ThreadLocal<Optional<GraphRecording>> recording = ThreadLocal.withInitial(Optional::empty);

    /** Memory that GPUs of other hosts can map: new, or of another process. */
    public interface DomainMemory {
        /** Address on this GPU. */
        long address();

        long bytes();

        /** The handle by which others map it, in hexadecimal digits: twice {@link MemoryHandle#HANDLE_BYTES}. */
        String export();

        /** Undoes every step that was done, also when one fails, and reports the first failure. */
        void close();
    }

    /**
     * Starts to use a GPU.
     *
     * @param hasPools true when memory can be allocated in the order of a stream
     */
    protected DriverDevice(DriverContext context, GpuInfo info, boolean hasPools) {
        this.context = context;
        this.id = new Device(context.driver().type(), context.ordinal());
        this.info = info;
        this.hasPools = hasPools;
    }

    /**
     * Maps memory that GPUs of other hosts can map.
     *
     * @param bytes of new memory
     * @param handle memory of another process; empty for new memory
     * @throws EpException when the vendor does not support it, or it does not work
     */
    protected abstract DomainMemory mapDomainMemory(DriverContext in, long bytes, Optional<MemoryHandle> handle);

    @Override
    public GpuInfo info() {
        return info;
    }

    @Override
    public PinnedMemory allocatePinned(long bytes) {
        return new DriverPinned(context, id, bytes);
    }

    @Override
    public void copy(long to, long from, long bytes, long stream) {
        context.call(
                () -> "copy of " + bytes + " bytes from 0x" + Long.toHexString(from) + " to 0x" + Long.toHexString(to),
                () -> context.driver().memcpyAsync(to, from, bytes, stream));
    }

    @Override
    public void zero(long address, long bytes, long stream) {
        context.call(
                () -> "zeroing of " + bytes + " bytes at 0x" + Long.toHexString(address),
                () -> context.driver().memsetD8Async(address, (byte) 0, bytes, stream));
    }

    @Override
    public void launch(long kernel, int blocks, int threads, int sharedBytes, long stream, long parameters) {
        int result = context.isCurrent()
                ? context.driver().launchKernel(kernel, blocks, 1, 1, threads, 1, 1, sharedBytes, stream, parameters, 0)
                : context.result(() -> context.driver()
                        .launchKernel(kernel, blocks, 1, 1, threads, 1, 1, sharedBytes, stream, parameters, 0));
        checkLaunch(result, blocks, threads, sharedBytes);
    }

    /** Throws when a launch was refused. */
    protected final void checkLaunch(int result, int blocks, int threads, int sharedBytes) {
        if (result != 0) {
            context.errors()
                    .check(
                            result,
                            "launch of " + blocks + " blocks of " + threads + " threads with " + sharedBytes
                                    + " bytes of shared memory");
        }
    }

    @Override
    public void launchOverlapping(long kernel, int blocks, int threads, int sharedBytes, long stream, long parameters) {
        launch(kernel, blocks, threads, sharedBytes, stream, parameters);
    }

    @Override
    public boolean isCapturing(long stream) {
        if (stream == 0 || stream == LEGACY_STREAM) {
            // It cannot record, and must not be queried while another stream does.
            return false;
        }
        int[] status = new int[1];
        context.call(
                () -> "querying the capture status of stream 0x" + Long.toHexString(stream),
                () -> context.driver().streamIsCapturing(stream, status));
        return status[0] != 0;
    }

    @Override
    public boolean await(long stream, EpEvent event) {
        long handle = event.nativeHandle();
        if (handle == 0) {
            return false;
        }
        try {
            context.call(
                    "making a stream wait for an event", () -> context.driver().streamWaitEvent(stream, handle, 0));
            return true;
        } finally {
            // An event that is no longer reachable may be destroyed.
            Reference.reachabilityFence(event);
        }
    }

    @Override
    public <T> T inside(Supplier<T> work) {
        return context.inside(work);
    }

    @Override
    public void allocating(Runnable work) {
        int[] mode = {CAPTURE_MODE_RELAXED};
        context.call(
                "allowing allocations during stream capture",
                () -> context.driver().threadExchangeStreamCaptureMode(mode));
        try {
            work.run();
        } finally {
            context.call(
                    "allowing allocations during stream capture",
                    () -> context.driver().threadExchangeStreamCaptureMode(mode));
        }
    }

    @Override
    public GpuStream createStream() {
        return newStream();
    }

    private DriverStream newStream() {
        return new DriverStream(this, context.createStream(), true);
    }

    @Override
    public GpuStream stream(long handle) {
        return new DriverStream(this, handle, false);
    }

    @Override
    public long handle(GpuStream stream) {
        return DriverStream.handle(stream, id);
    }

    @Override
    public void synchronize(long stream) {
        context.call("the work on a stream", () -> context.driver().streamSynchronize(stream));
    }

    @Override
    public GpuEvent createEvent() {
        return new DriverEvent(this, true);
    }

    @Override
    public EngineEvent createUntimedEvent() {
        return new DriverEvent(this, false);
    }

    @Override
    public GpuKernels compile(String name, String source) {
        return new DriverKernels(this, name, load(name, source));
    }

    /** Records what {@code work} queues on {@code stream}: see {@link GpuStream#capture}. */
    GpuGraph capture(long stream, Runnable work) {
        Optional<GraphRecording> outer = recording.get();
        GraphRecording mine = new GraphRecording(this);
        recording.set(Optional.of(mine));
        try {
            return mine.capture(stream, work);
        } finally {
            recording.set(outer);
        }
    }

    @Override
    public Optional<GraphRecording> recording() {
        return recording.get();
    }

    @Override
    public Device id() {
        return id;
    }

    /** The context that everything on this GPU shares. */
    public DriverContext context() {
        return context;
    }

    @Override
    public DeviceAllocation allocate(long bytes) {
        return allocate(bytes, out -> context.driver().allocate(out, bytes));
    }

    @Override
    public DeviceAllocation allocateShared(long bytes) {
        return allocate(bytes, out -> context.driver().allocateShared(out, bytes));
    }

    private DeviceAllocation allocate(long bytes, ToIntFunction<long[]> call) {
        checkSize(bytes);
        if (bytes == 0) {
            return new DeviceAllocation(DeviceMemory.of(0, 0, id), () -> {});
        }
        DeviceAllocation allocation = owned(newMemory(bytes, call), bytes, 0);
        // Zeroing is queued, and streams of other kinds do not wait for it.
        try (DriverStream stream = newStream()) {
            zeroNow(allocation, stream);
        }
        return allocation;
    }

    private long newMemory(long bytes, ToIntFunction<long[]> call) {
        return context.read(() -> "allocation of " + bytes + " bytes on " + id + context.freeText(), call);
    }

    private static void checkSize(long bytes) {
        if (bytes < 0) {
            throw new EpArgumentException("bytes", bytes, ">= 0", "pass the size of the allocation");
        }
    }

    private void zeroNow(DeviceAllocation allocation, DriverStream stream) {
        try {
            zero(allocation.memory().address(), allocation.memory().byteSize(), stream.handle());
            synchronize(stream.handle());
        } catch (RuntimeException | Error e) {
            allocation.close();
            throw e;
        }
    }

    @Override
    public DeviceAllocation allocatePrivate(long bytes) {
        checkSize(bytes);
        if (bytes == 0 || !hasPools) {
            return allocate(bytes);
        }
        DriverStream stream = memoryStream();
        long address = newMemory(bytes, out -> context.driver().memAllocAsync(out, bytes, stream.handle()));
        DeviceAllocation allocation = owned(address, bytes, stream.handle());
        zeroNow(allocation, stream);
        return allocation;
    }

    private synchronized DriverStream memoryStream() {
        DriverStream stream = memoryStream;
        if (stream == null) {
            stream = newStream();
            memoryStream = stream;
        }
        return stream;
    }

    @Override
    public void upload(ByteBuffer source, DeviceMemory target) {
        checkHere(target);
        int bytes = source.remaining();
        checkFits(bytes, target);
        if (bytes == 0) {
            return;
        }
        ByteBuffer direct = source.isDirect()
                ? source.duplicate()
                : ByteBuffer.allocateDirect(bytes).put(source.duplicate()).flip();
        try {
            long from = HostMemory.address(direct) + direct.position();
            context.call(
                    "copy of " + bytes + " bytes to " + target,
                    () -> context.driver().memcpyHtoD(target.address(), from, bytes));
            // The copy returns when the source has been read; streams that do not wait for stream 0 need it at the
            // target.
            context.call("copy to " + target, () -> context.driver().streamSynchronize(0));
        } finally {
            Reference.reachabilityFence(direct);
        }
        source.position(source.limit());
    }

    @Override
    public void download(DeviceMemory source, ByteBuffer target) {
        checkHere(source);
        int bytes = target.remaining();
        checkFits(bytes, source);
        if (bytes == 0) {
            return;
        }
        ByteBuffer direct = target.isDirect() ? target.duplicate() : ByteBuffer.allocateDirect(bytes);
        try {
            long to = HostMemory.address(direct) + direct.position();
            context.call(
                    "copy of " + bytes + " bytes from " + source,
                    () -> context.driver().memcpyDtoH(to, source.address(), bytes));
        } finally {
            Reference.reachabilityFence(direct);
        }
        if (target.isDirect()) {
            target.position(target.limit());
        } else {
            target.put(direct);
        }
    }

    @Override
    public DeviceMemory wrap(ByteBuffer direct) {
        throw new EpArgumentException(
                "buffer",
                "host memory",
                "memory of " + id,
                "allocate memory in an arena of the device and upload the buffer");
    }

    @Override
    public ByteBuffer view(DeviceMemory memory) {
        throw new EpArgumentException("memory", memory, "memory that the host can read", "download it into a buffer");
    }

    @Override
    public EpEvent record(long stream) {
        return DriverEvent.record(this, stream);
    }

    @Override
    public synchronized void close() {
        DriverStream stream = memoryStream;
        memoryStream = null;
        try {
            if (stream != null) {
                stream.close();
            }
        } finally {
            context.close();
        }
    }

    @Override
    public void keepContext() {
        context.keep();
    }

    @Override
    public void keepMemory() {
        context.keepMemory();
    }

    /** Refuses memory of another device, and memory that is closed. */
    void checkHere(DeviceMemory memory) {
        if (!memory.device().equals(id)) {
            throw new EpArgumentException(
                    "memory", "on " + memory.device(), "on " + id, "use the device that the memory belongs to");
        }
        DeviceAllocation.requireOpen("the range", memory);
    }

    private static void checkFits(long bytes, DeviceMemory memory) {
        if (bytes > memory.byteSize()) {
            throw new EpArgumentException(
                    "buffer", bytes + " bytes", "at most the memory's " + memory.byteSize(), "limit the buffer");
        }
    }

    /**
     * Wraps memory that was allocated in the order of {@code stream} or, if that is 0, at once; it is freed in the same way. Once the
     * device is closed, nothing is freed here: its context has ended with all memory, or others use it.
     */
    private DeviceAllocation owned(long address, long bytes, long stream) {
        DeviceMemory memory = DeviceMemory.of(address, bytes, id);
        return new DeviceAllocation(memory, () -> {
            if (stream != 0) {
                freeQueued(memory, stream);
            } else if (context.isClosed()) {
                warnKept(memory, "its group was closed before; close memory, then the group");
            } else {
                context.call(
                        () -> "freeing of " + memory, () -> context.driver().free(address));
            }
        });
    }

    /** Frees in the order of the memory's stream, which waits for no kernel; keeps memory that kernels may still use. */
    private synchronized void freeQueued(DeviceMemory memory, long stream) {
        if (memoryStream == null) {
            warnKept(memory, "its group was closed before; close arenas, then the group");
        } else if (context.isMemoryKept()) {
            warnKept(memory, "operations of a buffer had not ended when it was closed");
        } else {
            context.call(() -> "freeing of " + memory, () -> context.driver().memFreeAsync(memory.address(), stream));
        }
    }

    private static void warnKept(DeviceMemory memory, String reason) {
        LOG.log(System.Logger.Level.WARNING, "{0} is not freed: {1}", memory, reason);
    }

    /** Host memory that is mapped for all GPUs of the process. */
    private static final class DriverPinned implements PinnedMemory {
        private final DriverContext context;
        private final long host;
        private final long mapped;
        private final HostMemory memory;
        private final AtomicBoolean closed = new AtomicBoolean();

        DriverPinned(DriverContext context, Device device, long bytes) {
            this.context = context;
            GpuDriver driver = context.driver();
            host = context.read(
                    () -> "allocation of " + bytes + " bytes of pinned host memory for " + device,
                    out -> driver.allocatePinned(out, bytes));
            try {
                mapped = context.read(
                        () -> "address of pinned memory", out -> driver.hostGetDevicePointer(out, host, 0));
            } catch (RuntimeException | Error e) {
                context.result(() -> driver.hostFree(host));
                throw e;
            }
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
            if (closed.compareAndSet(false, true) && !context.isMemoryKept()) {
                context.call("freeing of pinned memory", () -> context.driver().hostFree(host));
            }
        }
    }
}
