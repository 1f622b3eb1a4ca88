package org.ep4j.engine.memory;

import com.sun.jna.Pointer;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import org.ep4j.Device;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpDevice;
import org.ep4j.EpEvent;
import org.ep4j.EpResourceException;

/** The processor and its memory. */
public final class HostDevice implements EpDevice {
    private static final int ALIGNMENT = 4096;

    private final CLibrary c = new CLibrary();
    private final Cleaner cleaner = Cleaner.create();
    private final ConcurrentSkipListMap<Long, TrackedMemory> tracked = new ConcurrentSkipListMap<>();

    /** The one host device; allocates nothing yet. */
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
        try {
            long address = (Pointer.nativeValue(base) + ALIGNMENT - 1) & -ALIGNMENT;
            DeviceMemory memory = new DeviceMemory(address, bytes, Device.HOST);
            return new OwnedMemory(track(OwnedMemory.what(bytes), memory, () -> c.free(base)));
        } catch (RuntimeException | Error e) {
            c.free(base);
            throw e;
        }
    }

    /**
     * Lets {@link #view} keep memory alive that somebody else maps.
     *
     * @param what it is, for messages
     * @param free unmaps it; called once, after {@link TrackedMemory#close} and the end of all holds
     */
    public TrackedMemory track(String what, DeviceMemory memory, Runnable free) {
        TrackedMemory[] mine = new TrackedMemory[1];
        TrackedMemory tracking = new TrackedMemory(what, memory, () -> {
            tracked.remove(memory.address(), mine[0]);
            free.run();
        });
        mine[0] = tracking;
        tracked.put(memory.address(), tracking);
        return tracking;
    }

    @Override
    public void upload(ByteBuffer source, DeviceMemory target) {
        checkHost(target);
        int bytes = source.remaining();
        checkFits(bytes, target);
        TrackedMemory.during(
                target, () -> HostMemory.buffer(target.address(), bytes).put(source));
    }

    @Override
    public void download(DeviceMemory source, ByteBuffer target) {
        checkHost(source);
        int bytes = target.remaining();
        checkFits(bytes, source);
        TrackedMemory.during(source, () -> target.put(HostMemory.buffer(source.address(), bytes)));
    }

    @Override
    public DeviceMemory wrap(ByteBuffer direct) {
        if (!direct.isDirect()) {
            throw new EpArgumentException(
                    "buffer", "a heap buffer", "a direct buffer", "use ByteBuffer.allocateDirect, or upload");
        }
        long address = HostMemory.address(direct) + direct.position();
        return new DeviceMemory(address, direct.remaining(), Device.HOST, Optional.of(direct));
    }

    @Override
    public ByteBuffer view(DeviceMemory memory) {
        checkHost(memory);
        if (memory.byteSize() > Integer.MAX_VALUE) {
            throw new EpArgumentException(
                    "memory", memory.byteSize() + " bytes", "at most " + Integer.MAX_VALUE + " bytes", "view a slice");
        }
        Optional<TrackedMemory> owner = TrackedMemory.of(memory).or(() -> around(memory));
        if (owner.isPresent()) {
            return owner.get().view(memory, cleaner);
        }
        ByteBuffer view = HostMemory.buffer(memory.address(), memory.byteSize());
        memory.owner().ifPresent(other -> cleaner.register(view, new Kept(other)));
        return view;
    }

    /** Tracked memory that a range lies in which a program made from an address. */
    private Optional<TrackedMemory> around(DeviceMemory memory) {
        if (memory.owner().isPresent()) {
            return Optional.empty();
        }
        Map.Entry<Long, TrackedMemory> below = tracked.floorEntry(memory.address());
        return Optional.ofNullable(below).map(Map.Entry::getValue).filter(tracking -> {
            DeviceMemory whole = tracking.memory();
            return memory.address() + memory.byteSize() <= whole.address() + whole.byteSize();
        });
    }

    /** What a view keeps reachable, as the memory does: a direct buffer that was wrapped goes away with the last of the two. */
    private record Kept(Object owner) implements Runnable {
        @Override
        public void run() {
            // There is nothing to do but to have been referred to until now.
        }
    }

    @Override
    public EpEvent record(long stream) {
        return EpEvent.completed();
    }

    @Override
    public void close() {
        // Allocations are closed by their holders; there is no other state.
    }

    private static void checkHost(DeviceMemory memory) {
        if (!memory.device().type().equals(Device.HOST.type())) {
            throw new EpArgumentException(
                    "memory", "on " + memory.device(), "on host:0", "copy it to the host with its own device");
        }
    }

    private static void checkFits(long bytes, DeviceMemory memory) {
        if (bytes > memory.byteSize()) {
            throw new EpArgumentException(
                    "buffer", bytes + " bytes", "at most the memory's " + memory.byteSize(), "limit the buffer");
        }
    }
}
