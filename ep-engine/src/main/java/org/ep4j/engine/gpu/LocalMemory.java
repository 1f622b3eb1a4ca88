package org.ep4j.engine.gpu;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.ep4j.DeviceMemory;
import org.ep4j.EpResourceException;
import org.ep4j.EpStateException;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.LocalLayout.Part;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.transport.memory.DeviceAllocation;
import org.jspecify.annotations.Nullable;

/**
 * Memory of one rank's results. A part is taken when an operation needs it first, also while the operation is recorded in a graph. It
 * is kept until the buffer is closed, since results and graphs hold its addresses. Safe for use from several threads.
 */
@SuppressWarnings("EnumOrdinal") // looked up in every operation
final class LocalMemory {
    /** Size of an allocation for an empty part: tensors without elements have an address, too. */
    private static final long LEAST_BYTES = 256;

    private final EngineGpu device;
    private final LocalLayout layout;
    /** One for each part. */
    private final List<Slot> slots =
            Stream.generate(Slot::new).limit(Part.values().length).toList();

    private final Deque<DeviceAllocation> allocations = new ArrayDeque<>();
    private boolean closed;

    private static final class Slot {
        /** Absent until the part is taken. */
        private volatile @Nullable DeviceMemory memory;
    }

    LocalMemory(EngineGpu device, LocalLayout layout) {
        this.device = device;
        this.layout = layout;
    }

    LocalLayout layout() {
        return layout;
    }

    /**
     * Returns the memory of a part; takes it if it is not yet taken.
     *
     * @throws EpResourceException when the GPU has too little memory; a later call tries again
     */
    DeviceMemory of(Part part) {
        DeviceMemory memory = slots.get(part.ordinal()).memory;
        return memory == null ? allocate(part) : memory;
    }

    /** Takes a part if it is not yet taken, before an operation changes anything; throws as {@link #of}. */
    void take(Part part) {
        of(part);
    }

    /** Takes all parts that are not empty; throws as {@link #of}. */
    void takeAll() {
        for (Part part : Part.values()) {
            if (layout.bytes(part) > 0) {
                take(part);
            }
        }
    }

    private synchronized DeviceMemory allocate(Part part) {
        Slot slot = slots.get(part.ordinal());
        DeviceMemory known = slot.memory;
        if (known != null) {
            return known;
        }
        if (closed) {
            throw new EpStateException("the buffer is closed; create another one");
        }
        try {
            device.allocating(() -> {
                DeviceAllocation allocation = device.allocatePrivate(Math.max(LEAST_BYTES, layout.bytes(part)));
                allocations.push(allocation);
                slot.memory = allocation.memory();
            });
        } catch (EpResourceException e) {
            throw new EpResourceException(
                    "too little memory for results (" + part.use() + ", " + layout.bytes(part) + " bytes): "
                            + e.getMessage() + "; or " + part.remedy(),
                    e);
        }
        return Objects.requireNonNull(slot.memory);
    }

    /** Bytes of the parts that are taken. */
    long takenBytes() {
        long bytes = 0;
        for (Slot slot : slots) {
            DeviceMemory memory = slot.memory;
            bytes += memory == null ? 0 : memory.byteSize();
        }
        return bytes;
    }

    synchronized void close() {
        closed = true;
        while (!allocations.isEmpty()) {
            GpuBuffers.release(allocations.pop()::close);
        }
    }
}
