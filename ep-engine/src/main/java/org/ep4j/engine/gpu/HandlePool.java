package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpStateException;
import org.ep4j.engine.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/**
 * Memory of handles: taken from here, given back when the handle is closed or can no longer be reached. Operations of a
 * buffer run one after another on the device, so memory that a handle leaves behind may be used at once.
 */
final class HandlePool {
    /** Allocated at once, because allocating takes longer than most operations. */
    private static final long SLAB_BYTES = 32 << 20;

    private static final int MOST_IN_SLAB = 32;

    /** So much is taken without a thought; then unreachable handles are looked for before more is. */
    private static final long PLENTY_BYTES = 256 << 20;

    private static final int PATIENCE_MILLIS = 20;

    private final GpuDevice device;
    private final long deviceBytes;
    private final long pinnedBytes;
    private final Cleaner cleaner;
    private final int perSlab;
    private final List<Slab> slabs = new ArrayList<>();
    private final Deque<HandleMemory> free = new ArrayDeque<>();

    /** Addresses that recorded graphs read and write whenever they run. */
    private final Set<Long> kept = new HashSet<>();

    private long looked;
    private boolean closed;

    /** Memory of several handles. */
    private record Slab(DeviceAllocation device, PinnedMemory pinned) {}

    /**
     * Where one handle keeps its routing.
     *
     * @param address on the GPU
     * @param counts in host memory
     * @param countsAddress where kernels see these
     * @param offset of these
     */
    record HandleMemory(long address, HostMemory counts, long countsAddress, long offset) {}

    /** The first handles' memory is there at once when {@code deviceBytes} is not 0. */
    HandlePool(GpuDevice device, long deviceBytes, long pinnedBytes, Cleaner cleaner) {
        this.device = device;
        this.deviceBytes = align(deviceBytes);
        this.pinnedBytes = align(pinnedBytes);
        this.cleaner = cleaner;
        perSlab = (int) Math.max(1, Math.min(MOST_IN_SLAB, SLAB_BYTES / Math.max(1, this.deviceBytes)));
        if (deviceBytes > 0) {
            addSlab();
        }
    }

    private static long align(long bytes) {
        return (bytes + 255) / 256 * 256;
    }

    /** Memory for a new handle; {@link #bind} gives it back when the handle is gone. */
    HandleMemory take() {
        HandleMemory known = poll();
        if (known == null && isTimeToLook()) {
            System.gc();
            for (int i = 0; i < PATIENCE_MILLIS && known == null; i++) {
                LockSupport.parkNanos(1_000_000);
                known = poll();
            }
        }
        while (known == null) {
            device.allocating(this::addSlab);
            known = poll();
        }
        return known;
    }

    private synchronized @Nullable HandleMemory poll() {
        if (closed) {
            throw closedBuffer();
        }
        return free.poll();
    }

    private synchronized boolean isTimeToLook() {
        long bytes = (long) slabs.size() * perSlab * deviceBytes;
        if (bytes - looked < PLENTY_BYTES) {
            return false;
        }
        looked = bytes;
        return true;
    }

    private synchronized void addSlab() {
        DeviceAllocation memory = device.allocate(perSlab * deviceBytes);
        PinnedMemory pinned;
        try {
            pinned = device.allocatePinned(perSlab * pinnedBytes);
        } catch (RuntimeException e) {
            memory.close();
            throw e;
        }
        slabs.add(new Slab(memory, pinned));
        for (int i = 0; i < perSlab; i++) {
            free.add(new HandleMemory(
                    memory.memory().address() + i * deviceBytes,
                    pinned.memory(),
                    pinned.deviceAddress() + i * pinnedBytes,
                    i * pinnedBytes));
        }
    }

    /** Gives {@code memory} back once, when that is run or {@code handle} cannot be reached any more. */
    Cleaner.Cleanable bind(Object handle, HandleMemory memory) {
        return cleaner.register(handle, () -> giveBack(memory));
    }

    private synchronized void giveBack(HandleMemory memory) {
        if (!closed && !kept.contains(memory.address())) {
            free.push(memory);
        }
    }

    /** Memory whose address a graph has recorded is not used for anything else until the buffer is closed. */
    synchronized void keep(HandleMemory memory) {
        kept.add(memory.address());
    }

    /** Word {@code index} of a handle's counts. */
    synchronized long count(HandleMemory memory, int index) {
        if (closed) {
            throw closedBuffer();
        }
        return memory.counts().getLong(memory.offset() + 8L * index);
    }

    private static EpStateException closedBuffer() {
        return new EpStateException("the buffer of this handle is closed; use handles before closing it");
    }

    /** Frees all; no kernel runs any more. */
    synchronized void close() {
        closed = true;
        for (Slab slab : slabs) {
            slab.device().close();
            slab.pinned().close();
        }
        slabs.clear();
        free.clear();
    }
}
