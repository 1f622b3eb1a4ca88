package org.ep4j.transport.memory;

import com.sun.jna.Pointer;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpResourceException;
import org.jspecify.annotations.Nullable;

/** The processor and its memory. */
public final class HostDevice implements EngineDevice {
    private static final int ALIGNMENT = 4096;

    /** One for the process, since each has a thread, which ends only some time after a garbage collection. */
    private static final Cleaner CLEANER = Cleaner.create();

    private final CLibrary c = new CLibrary();

    /** Creates the host device; allocates nothing yet. */
    public HostDevice() {}

    @Override
    public Device id() {
        return Device.HOST;
    }

    @Override
    public DeviceAllocation allocate(long bytes) {
        if (bytes < 0) {
            throw new EpArgumentException("bytes", bytes, ">= 0", "pass the size of the allocation");
        }
        Pointer base = bytes > Long.MAX_VALUE - ALIGNMENT ? null : c.calloc(1, bytes + ALIGNMENT);
        if (base == null) {
            throw new EpResourceException("cannot allocate " + bytes
                    + " bytes of host memory; lower the shape's token limits, or give the process more memory");
        }
        long address = (Pointer.nativeValue(base) + ALIGNMENT - 1) & -ALIGNMENT;
        return new DeviceAllocation(DeviceMemory.of(address, bytes, Device.HOST), () -> c.free(base));
    }

    @Override
    public void upload(ByteBuffer source, DeviceMemory target) {
        checkHost(target);
        int bytes = source.remaining();
        checkFits(bytes, target);
        kept(
                "the target",
                target,
                () -> HostMemory.buffer(target.address(), bytes).put(source));
    }

    @Override
    public void download(DeviceMemory source, ByteBuffer target) {
        checkHost(source);
        int bytes = target.remaining();
        checkFits(bytes, source);
        kept("the source", source, () -> target.put(HostMemory.buffer(source.address(), bytes)));
    }

    /** Runs {@code copy} while the memory stays. */
    private static void kept(String name, DeviceMemory memory, Runnable copy) {
        if (!(memory.owner().orElse(memory) instanceof DeviceAllocation tracked)) {
            try {
                copy.run();
            } finally {
                Reference.reachabilityFence(memory);
            }
            return;
        }
        if (!tracked.retain()) {
            throw tracked.closed(name);
        }
        try {
            copy.run();
        } finally {
            tracked.release();
        }
    }

    @Override
    public DeviceMemory wrap(ByteBuffer direct) {
        if (!direct.isDirect()) {
            throw new EpArgumentException(
                    "buffer", "a heap buffer", "a direct buffer", "use ByteBuffer.allocateDirect, or upload");
        }
        long address = HostMemory.address(direct) + direct.position();
        return DeviceMemory.of(address, direct.remaining(), Device.HOST).keeping(direct);
    }

    @Override
    public ByteBuffer view(DeviceMemory memory) {
        checkHost(memory);
        if (memory.byteSize() > Integer.MAX_VALUE) {
            throw new EpArgumentException(
                    "memory", memory.byteSize() + " bytes", "at most " + Integer.MAX_VALUE + " bytes", "view a slice");
        }
        if (memory.owner().isEmpty()) {
            return HostMemory.buffer(memory.address(), memory.byteSize());
        }
        Object owner = memory.owner().get();
        if (owner instanceof DeviceAllocation tracked && !tracked.retain()) {
            throw tracked.closed("the view");
        }
        ByteBuffer view = HostMemory.buffer(memory.address(), memory.byteSize());
        // Slices and duplicates keep the buffer that they were made from reachable, so watching this one is enough. The
        // action holds the owner.
        CLEANER.register(view, () -> {
            if (owner instanceof DeviceAllocation tracked) {
                tracked.release();
            }
        });
        return view;
    }

    @Override
    public void close() {
        // Allocations are closed by their holders; there is no other state.
    }

    private static void checkHost(DeviceMemory memory) {
        if (!memory.device().type().equals(Device.HOST.type())) {
            throw new EpArgumentException(
                    "memory",
                    "on " + memory.device(),
                    "on host:0",
                    "copy the memory to the host with the device that it belongs to");
        }
    }

    private static void checkFits(long bytes, DeviceMemory memory) {
        if (bytes > memory.byteSize()) {
            throw new EpArgumentException(
                    "buffer", bytes + " bytes", "at most the memory's " + memory.byteSize(), "limit the buffer");
        }
    }

    /**
     * The two calls of the C library that give zeroed memory, whose pages are not touched before they are used. Sizes are
     * {@code size_t} of a 64-bit machine.
     */
    private static final class CLibrary {
        CLibrary() {
            NativeMethods.bindToC(CLibrary.class);
        }

        native @Nullable Pointer calloc(long count, long size);

        native void free(Pointer pointer);
    }
}
