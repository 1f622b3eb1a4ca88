package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpStateException;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostMemory;
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

    /** Host memory for the counts of so many handles at once: to allocate that may wait for all kernels of the device. */
    private static final int COUNTS_AT_ONCE = 1024;

    private final EngineGpu device;
    private final long deviceBytes;
    private final long pinnedBytes;
    private final Cleaner cleaner;
    private final int perSlab;
    private final List<DeviceAllocation> slabs = new ArrayList<>();
    private final List<PinnedMemory> counts = new ArrayList<>();
    private final Deque<HandleMemory> free = new ArrayDeque<>();

    /** How many times recorded graphs use an address, which they read and write whenever they run. */
    private final Map<Long, Integer> kept = new HashMap<>();

    /** Memory that no handle has any more, but a graph. */
    private final Map<Long, HandleMemory> orphans = new HashMap<>();

    private long looked;

    /** Handles whose counts are in the last of {@link #counts}. */
    private long countsUsed;

    private boolean closed;

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
    HandlePool(EngineGpu device, long deviceBytes, long pinnedBytes, Cleaner cleaner) {
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
        if (closed) {
            throw closedBuffer();
        }
        PinnedMemory block = counts();
        DeviceAllocation memory = device.allocatePrivate(perSlab * deviceBytes);
        slabs.add(memory);
        for (int i = 0; i < perSlab; i++) {
            long offset = countsUsed++ * pinnedBytes;
            free.add(new HandleMemory(
                    memory.memory().address() + i * deviceBytes,
                    block.memory(),
                    block.deviceAddress() + offset,
                    offset));
        }
    }

    /** Has room for the counts of a slab's handles. */
    private PinnedMemory counts() {
        long most = Math.max(COUNTS_AT_ONCE, perSlab);
        if (counts.isEmpty() || countsUsed + perSlab > most) {
            counts.add(device.allocatePinned(most * pinnedBytes));
            countsUsed = 0;
        }
        return counts.get(counts.size() - 1);
    }

    /** Gives {@code memory} back once, when that is run or {@code handle} cannot be reached any more. */
    Cleaner.Cleanable bind(Object handle, HandleMemory memory) {
        return cleaner.register(handle, () -> giveBack(memory));
    }

    private synchronized void giveBack(HandleMemory memory) {
        if (closed) {
            return;
        }
        if (kept.containsKey(memory.address())) {
            orphans.put(memory.address(), memory);
        } else {
            free.push(memory);
        }
    }

    /**
     * Memory whose address a graph records is not used for anything else until the graph is closed; until this is, when the
     * graph is not one of {@link org.ep4j.gpu.GpuStream#capture}.
     */
    void keep(HandleMemory memory) {
        synchronized (this) {
            kept.merge(memory.address(), 1, Integer::sum);
        }
        device.recording().ifPresent(recording -> recording.whenClosed(() -> release(memory)));
    }

    private synchronized void release(HandleMemory memory) {
        int left = kept.merge(memory.address(), -1, Integer::sum);
        if (left > 0) {
            return;
        }
        kept.remove(memory.address());
        HandleMemory orphan = orphans.remove(memory.address());
        if (orphan != null && !closed) {
            free.push(orphan);
        }
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
        slabs.forEach(DeviceAllocation::close);
        counts.forEach(PinnedMemory::close);
        slabs.clear();
        counts.clear();
        free.clear();
    }
}
