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
import org.ep4j.engine.buffer.EngineHandle;
import org.ep4j.engine.gpu.Operations.Queue;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/**
 * Pool of handles' memory, which returns here when the handle is closed or no longer reachable. Operations of a
 * buffer run one after another on the device, so returned memory may be reused at once.
 */
final class HandlePool {
    /** Size of one allocation, because allocating takes longer than most operations. */
    private static final long SLAB_BYTES = 32 << 20;

    private static final int MOST_IN_SLAB = 32;

    /** After so many bytes, unreachable handles are collected before more memory is allocated. */
    private static final long PLENTY_BYTES = 256 << 20;

    private static final int LONGEST_COLLECTION_MILLIS = 20;

    /** Handles whose counts are allocated together: allocating host memory may wait for all kernels of the device. */
    private static final int COUNTS_AT_ONCE = 1024;

    private final EngineGpu device;
    private final long deviceBytes;
    private final long pinnedBytes;
    private final Cleaner cleaner;
    private final int perSlab;
    private final List<DeviceAllocation> slabs = new ArrayList<>();
    private final List<PinnedMemory> counts = new ArrayList<>();
    private final Deque<HandleMemory> free = new ArrayDeque<>();

    /** Number of recorded operations by address, which graphs read and write whenever they run. */
    private final Map<Long, Integer> kept = new HashMap<>();

    /** Memory that only graphs still use. */
    private final Map<Long, HandleMemory> orphans = new HashMap<>();

    private long collected;

    /** Handles whose counts are in the last of {@link #counts}. */
    private long countsUsed;

    private boolean closed;

    /** Memory of a handle's routing at {@code address} on the GPU, and of its counts at {@code offset} in host memory. */
    record HandleMemory(long address, HostMemory counts, long countsAddress, long offset) {}

    /** Creates a pool with the memory of the first handles, unless {@code deviceBytes} is 0. */
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

    /** Takes memory for a new handle; {@link #bind} returns it when the handle is gone. */
    HandleMemory take() {
        HandleMemory known = poll();
        if (known == null && isTimeToCollect()) {
            System.gc();
            for (int i = 0; i < LONGEST_COLLECTION_MILLIS && known == null; i++) {
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

    private synchronized boolean isTimeToCollect() {
        long bytes = (long) slabs.size() * perSlab * deviceBytes;
        if (bytes - collected < PLENTY_BYTES) {
            return false;
        }
        collected = bytes;
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

    /** Returns host memory with room for the counts of a slab's handles. */
    private PinnedMemory counts() {
        long most = Math.max(COUNTS_AT_ONCE, perSlab);
        if (counts.isEmpty() || countsUsed + perSlab > most) {
            counts.add(device.allocatePinned(most * pinnedBytes));
            countsUsed = 0;
        }
        return counts.get(counts.size() - 1);
    }

    /** Returns {@code memory} to the pool once: when the result is run, or {@code handle} is no longer reachable. */
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
     * Keeps memory whose address a graph records until the graph is closed; until this pool is closed, if the
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

    /** Reads word {@code index} of a handle's counts. */
    synchronized long count(HandleMemory memory, int index) {
        if (closed) {
            throw closedBuffer();
        }
        return memory.counts().getLong(memory.offset() + 8L * index);
    }

    private static EpStateException closedBuffer() {
        return new EpStateException("the buffer of this handle is closed; use handles before closing it");
    }

    /** Frees all memory; no kernel runs any more. */
    synchronized void close() {
        closed = true;
        slabs.forEach(DeviceAllocation::close);
        counts.forEach(PinnedMemory::close);
        slabs.clear();
        counts.clear();
        free.clear();
    }

    /**
     * A handle whose routing lies in device memory, which returns to its pool also when the handle is no longer reachable.
     * Operations retain it only for their receiving half, whose kernels are queued after those of later operations.
     *
     * @param <O> type of the mode
     */
    abstract static class PooledHandle<O> extends EngineHandle<O, HandleMemory> {
        private final HandlePool pool;
        private final Cleaner.Cleanable release;

        PooledHandle(O owner, HandlePool pool, HandleMemory memory, int tokens) {
            super(owner, memory, tokens);
            this.pool = pool;
            this.release = pool.bind(this, memory);
        }

        @Override
        protected final void free() {
            release.clean();
        }

        /** Called before kernels that get its address are queued; checks again, since it may have been closed meanwhile. */
        final void usedBy(Queue queue) {
            requireOpen();
            if (queue.isCapturing()) {
                pool.keep(routing());
            }
        }
    }
}
