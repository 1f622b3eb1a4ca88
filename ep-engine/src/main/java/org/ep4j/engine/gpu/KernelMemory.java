package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpPath;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.plan.GroupPlan;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.Words;

/**
 * Access of kernels to the symmetric memory of all ranks: addresses of mapped memory, and the tables and host threads by which they
 * post to the other ranks. A buffer that moves gets new ones: kernels in a graph that was recorded before have the old ones, so they can
 * neither write into the fresh memory nor post there.
 */
final class KernelMemory {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** Wait for threads that are not inside a call of a backend. */
    private static final Duration SOON = Duration.ofSeconds(1);

    private static final Duration LONGEST = Duration.ofSeconds(5);

    private final EngineGpu device;
    private final Copies copies;
    private final GroupPlan plan;
    private final Supplier<Optional<GpuWindow>> windows;
    private final Posts posts;
    /** Memories that kernels use or have used, the newest first. */
    private final Deque<Reached> used = new ArrayDeque<>();

    private Optional<Reached> prepared = Optional.empty();
    private volatile Posting posting = Posting.NONE;

    /** Creates the table and threads by which kernels post. */
    interface Posts {
        /** Creates the posting into a memory; {@code owned} gets what frees the table. */
        Posting make(SymmetricMemory symmetric, GpuWindow window, Deque<Runnable> owned);
    }

    /** One memory; {@code table} is the address of the table of addresses, {@code owned} frees tables, the newest first. */
    private record Reached(
            SymmetricMemory symmetric, long table, Optional<GpuWindow> window, Posting posting, Deque<Runnable> owned) {
        void free() {
            owned.forEach(GpuBuffers::release);
            owned.clear();
        }
    }

    /** @param windows gives the window of the newest memory, through which rows go to peers whose symmetric memory is not mapped */
    KernelMemory(EngineGpu device, Copies copies, GroupPlan plan, Supplier<Optional<GpuWindow>> windows, Posts posts) {
        this.device = device;
        this.copies = copies;
        this.plan = plan;
        this.windows = windows;
        this.posts = posts;
    }

    /** Prepares a memory for kernels; returns what ends the threads that use it. */
    Runnable prepare(SymmetricMemory symmetric) {
        Optional<GpuWindow> window = windows.get();
        Deque<Runnable> owned = new ArrayDeque<>();
        try {
            long table = table(symmetric, window, owned);
            Posting remotes = window.map(w -> posts.make(symmetric, w, owned)).orElse(Posting.NONE);
            Reached reached = new Reached(symmetric, table, window, remotes, owned);
            prepared = Optional.of(reached);
            return () -> end(reached);
        } catch (RuntimeException | Error e) {
            owned.forEach(GpuBuffers::release);
            throw e;
        }
    }

    /** Ends the threads; tables that kernels may have in a graph stay until the buffer is closed. */
    private void end(Reached reached) {
        if (!reached.posting().end(SOON)) {
            device.keepMemory();
            if (!used.contains(reached)) {
                used.addLast(reached);
            }
        } else if (!used.contains(reached)) {
            reached.free();
        }
    }

    /** Returns whether the threads of memories that kernels do not use any more have ended, after a short wait. */
    boolean haveRetiredEnded() {
        boolean all = true;
        for (Reached reached : used) {
            if (reached.posting() != posting && !reached.posting().end(SOON)) {
                LOG.log(
                        System.Logger.Level.WARNING,
                        "the old memory of a recovered buffer is kept: threads named ep4j-proxy still use it inside a"
                                + " call of the backend");
                all = false;
            }
        }
        return all;
    }

    /** Puts the memory that was prepared last into the arguments of kernels. The threads of the memory before are to end. */
    void use(Arguments arguments) {
        Reached reached = prepared.orElseThrow();
        Optional<GpuWindow> window = reached.window();
        arguments
                .set(Param.PEERS, reached.table())
                .set(Param.LOCAL, reached.symmetric().local().address())
                .set(Param.PATHS, reached.posting().tableAddress())
                .set(Param.WINDOW, window.map(GpuWindow::address).orElse(0L));
        posting.retire();
        used.push(reached);
        posting = reached.posting();
    }

    /** Posting of the memory that kernels use. */
    Posting posting() {
        return posting;
    }

    /** Returns words of the memory that was prepared last. NICs write only into the window. */
    DeviceWords words(DeviceMemory memory) {
        Runnable flush = prepared.flatMap(Reached::window)
                .filter(w -> w.exposed().memory().equals(memory))
                .map(GpuWindow::flush)
                .orElse(() -> {});
        return new DeviceWords(copies, device.id(), memory, flush);
    }

    private long table(SymmetricMemory symmetric, Optional<GpuWindow> window, Deque<Runnable> owned) {
        int ranks = plan.ranks();
        DeviceAllocation table = device.allocatePrivate((long) Long.BYTES * ranks);
        owned.push(table::close);
        ByteBuffer words = Copies.buffer(Long.BYTES * ranks);
        for (int r = 0; r < ranks; r++) {
            words.putLong(address(symmetric, r, window));
        }
        copies.write(table.memory().address(), words);
        return table.memory().address();
    }

    /** Returns where kernels store what goes to a rank; the window, or 0, if it has no part in the memory: kernels do not use it. */
    private long address(SymmetricMemory symmetric, int rank, Optional<GpuWindow> window) {
        if (rank == symmetric.rank()) {
            return symmetric.local().address();
        }
        DeviceMemory mapped = symmetric.mapped().get(rank);
        if (mapped != null) {
            return mapped.address();
        }
        boolean byDevice = symmetric.postedTo().containsKey(rank)
                && plan.pathKind(symmetric.rank(), rank) == EpPath.Kind.DEVICE_POSTED;
        return window.map(w -> byDevice ? w.addressFor(rank) : w.address()).orElse(0L);
    }

    /** Ends the threads and frees all tables. */
    void close() {
        prepared.filter(reached -> !used.contains(reached)).ifPresent(used::push);
        for (Reached reached : used) {
            if (!reached.posting().end(LONGEST)) {
                device.keepMemory();
                LOG.log(
                        System.Logger.Level.WARNING,
                        "pinned memory of " + device.id()
                                + " stays until the process ends, since threads named ep4j-proxy"
                                + " may still use it");
            }
            reached.free();
        }
    }

    /**
     * Words of device memory by synchronous copies: slow, and only for set-up and recovery. A word
     * is copied whole, and arrives after what was written before it.
     */
    static final class DeviceWords implements Words {
        private final Copies copies;
        private final DeviceMemory memory;
        private final Runnable flush;

        /** @param flush makes the device see what others have written into {@code memory}, before it is read */
        DeviceWords(Copies copies, Device device, DeviceMemory memory, Runnable flush) {
            this.copies = copies;
            this.flush = flush;
            this.memory = DeviceMemory.of(memory.address(), memory.byteSize(), device);
        }

        DeviceMemory memory() {
            return memory;
        }

        private void write(long offset, ByteBuffer words) {
            copies.write(memory.slice(offset, words.position()).address(), words);
        }

        @Override
        public void putInt(long offset, int value) {
            write(offset, Copies.buffer(4).putInt(value));
        }

        @Override
        public long getLong(long offset) {
            flush.run();
            return copies.read(memory.slice(offset, 8).address(), 8).getLong();
        }

        @Override
        public void putLong(long offset, long value) {
            write(offset, Copies.buffer(8).putLong(value));
        }

        @Override
        public long getLongAcquire(long offset) {
            return getLong(offset);
        }

        @Override
        public void putLongRelease(long offset, long value) {
            putLong(offset, value);
        }
    }
}
