package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpConfig;
import org.ep4j.EpPeerLostException;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.proxy.CommandRing;
import org.ep4j.engine.proxy.CommandSink;
import org.ep4j.engine.proxy.ProxyThreads;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Rails;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.GpuDirect;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/**
 * The peers of a GPU that are not mapped: its kernels put commands into rings, and proxy threads post for them and bring what
 * has come to words that kernels look at. See {@code remote.cu}.
 */
final class Remotes implements Posting {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** Bytes of {@code struct Remote}. */
    private static final int BYTES = 72;

    private static final int HEAD_BYTES = 16;
    private static final long PAUSE_NANOS = 50_000;

    private static final List<Counter> AWAITED = List.of(Counter.values());

    private final Copies copies;
    private final GpuWindow window;
    private final HostMemory words;
    private final SymmetricMemory symmetric;
    private final BufferLayout layout;
    private final Abort abort;
    private final PinnedMemory ringMemory;
    private final DeviceAllocation heads;
    private final DeviceAllocation table;
    private final int ringCount;
    private final List<CommandRing> rings;
    private final ProxyThreads threads;
    private final int threadCount;

    private final List<Source> sources;

    /** By rank: given up, so that nothing is posted to it and nothing of it is shown to kernels. */
    private final AtomicBoolean[] silent;

    /** By rank and counter: what has come, and what of it kernels have been shown; each entry is its source's thread's. */
    private final long[][] come;

    private final long[][] shown;

    /** Whether kernels have stopped to use these rings. Guarded by {@code abort}, so that no wait is ended afterwards. */
    private boolean retired;

    /** Guarded by this object. */
    private boolean ended;

    /** A rank that posts, and how it is heard. */
    private record Source(int rank, HostPosted posted) {}

    /**
     * Starts the proxy threads of a rank.
     *
     * @param owned gets what frees their memory, in the order in which it is allocated
     */
    Remotes(
            EngineGpu device,
            Copies copies,
            GroupPlan plan,
            SymmetricMemory symmetric,
            GpuWindow window,
            BufferLayout layout,
            Rails rails,
            EpConfig config,
            Abort abort,
            Deque<Runnable> owned) {
        this.copies = copies;
        this.window = window;
        this.words = window.words().orElseThrow().memory();
        this.symmetric = symmetric;
        this.layout = layout;
        this.abort = abort;
        this.sources = new TreeMap<>(symmetric.postedFrom())
                .entrySet().stream()
                        .map(entry -> new Source(entry.getKey(), entry.getValue()))
                        .toList();
        this.silent = new AtomicBoolean[plan.ranks()];
        this.come = new long[plan.ranks()][Counter.values().length];
        this.shown = new long[plan.ranks()][Counter.values().length];
        for (int r = 0; r < silent.length; r++) {
            silent[r] = new AtomicBoolean();
        }
        List<Integer> remotes = GpuWindow.remotes(plan, symmetric.rank());
        int wanted = Math.max(1, plan.proxies(symmetric.rank()));
        this.ringCount = Math.max(1, Math.min(remotes.size(), wanted * EpKeys.PROXY_RINGS.get(config)));
        this.threadCount = Math.min(wanted, ringCount);
        int commands = EpKeys.PROXY_RING_COMMANDS.get(config);
        long ringBytes = CommandRing.bytes(commands);
        this.ringMemory = device.allocatePinned(ringCount * ringBytes);
        owned.push(ringMemory::close);
        this.heads = device.allocatePrivate((long) ringCount * HEAD_BYTES);
        owned.push(heads::close);
        this.table = device.allocatePrivate((long) plan.ranks() * BYTES);
        owned.push(table::close);
        this.rings = new ArrayList<>();
        for (int i = 0; i < ringCount; i++) {
            rings.add(new CommandRing(ringMemory.memory(), i * ringBytes, commands));
        }
        copies.write(table.memory().address(), table(plan, rails, remotes, ringBytes, commands));
        this.threads = new ProxyThreads(
                "ep4j-proxy-" + symmetric.rank(),
                threadCount,
                rings,
                new Sink(),
                this::lookAtArrivals,
                this::failed,
                EpKeys.PROXY_IDLE_SPIN.get(config));
    }

    private ByteBuffer table(GroupPlan plan, Rails rails, List<Integer> remotes, long ringBytes, int commands) {
        WindowLayout at = window.layout();
        long base = window.address();
        int me = symmetric.rank();
        ByteBuffer words = Copies.buffer(plan.ranks() * BYTES);
        for (int index = 0; index < remotes.size(); index++) {
            int r = remotes.get(index);
            words.position(r * BYTES);
            int there = GpuWindow.place(plan, r, me);
            int ring = index % ringCount;
            words.putLong(base + at.outgoing(index))
                    .putLong(base + at.incoming(index))
                    .putLong(at.outgoing(index))
                    .putLong(at.incoming(there))
                    .putLong(ringMemory.deviceAddress() + ring * ringBytes)
                    .putLong(heads.memory().address() + (long) ring * HEAD_BYTES)
                    .putLong(commands)
                    .putLong(rails.via(me, r, Mask.NONE))
                    .putLong(rails.via(r, me, Mask.NONE));
        }
        words.position(plan.ranks() * BYTES);
        return words;
    }

    @Override
    public long tableAddress() {
        return table.memory().address();
    }

    private final class Sink implements CommandSink {
        @Override
        public void write(int ring, int peer, long target, long source, long bytes) {
            HostPosted posted = posted(peer);
            if (silent[peer].get()) {
                return;
            }
            if (window.layout().isLowLatency(target)) {
                posted.putMessage(peer, target, source, bytes);
            } else {
                posted.put(peer, target, source, bytes);
            }
        }

        /** A counter that follows a write which has failed must not say that the write is there. */
        @Override
        public void advance(int ring, int peer, int counter, long value) {
            HostPosted posted = posted(peer);
            if (!silent[peer].get()) {
                posted.signal(peer, counter, value);
            }
        }

        private HostPosted posted(int peer) {
            HostPosted posted = symmetric.postedTo().get(peer);
            if (posted == null) {
                throw new IllegalArgumentException(
                        "a kernel posts to rank " + peer + ", but this rank has no posted path to that rank");
            }
            return posted;
        }
    }

    private void failed(int ring, int peer, Throwable failure) {
        if (peer >= 0 && peer < silent.length) {
            giveUp(peer, failure);
        } else {
            LOG.log(System.Logger.Level.WARNING, "a proxy thread of rank " + symmetric.rank() + " failed", failure);
            synchronized (abort) {
                if (!retired) {
                    abort.all();
                }
            }
        }
    }

    /** Ends the waits of kernels for a rank; the backend is asked again for the reason. */
    private void giveUp(int peer, Throwable failure) {
        boolean isNew;
        synchronized (abort) {
            isNew = silent[peer].compareAndSet(false, true);
            if (!retired) {
                abort.waitsFor(peer);
            }
        }
        if (isNew) {
            LOG.log(
                    failure instanceof EpPeerLostException ? System.Logger.Level.DEBUG : System.Logger.Level.WARNING,
                    "rank " + symmetric.rank() + " gives up rank " + peer,
                    failure);
        }
    }

    /**
     * What has come of all sources of a thread is first made visible to the GPU, by one flush, and then told: a completion that
     * the host has seen says nothing of what the GPU sees, see {@link GpuDirect}.
     */
    private boolean lookAtArrivals(int thread) {
        boolean any = false;
        for (int i = thread; i < sources.size(); i += threadCount) {
            Source source = sources.get(i);
            if (!silent[source.rank()].get()) {
                any |= lookAt(source.rank(), source.posted());
            }
        }
        if (any && flush(thread)) {
            for (int i = thread; i < sources.size(); i += threadCount) {
                show(sources.get(i).rank());
            }
        }
        return any;
    }

    private boolean flush(int thread) {
        try {
            window.flush().run();
            return true;
        } catch (RuntimeException e) {
            for (int i = thread; i < sources.size(); i += threadCount) {
                giveUp(sources.get(i).rank(), e);
            }
            return false;
        }
    }

    /**
     * Of a source that is lost what is new is still told, counter by counter. It is given up when it was lost before all of them
     * were looked at: where it was lost meanwhile, those before may have grown since.
     */
    private boolean lookAt(int source, HostPosted posted) {
        boolean any = false;
        int losses = 0;
        @Nullable RuntimeException lost = null;
        for (int c = 0; c < AWAITED.size(); c++) {
            int number = BufferLayout.number(AWAITED.get(c));
            try {
                long value = posted.counter(number, source);
                if (value > shown[source][number]) {
                    come[source][number] = value;
                    any = true;
                }
            } catch (RuntimeException e) {
                lost = e;
                losses++;
            }
        }
        if (lost != null && losses == AWAITED.size()) {
            giveUp(source, lost);
        }
        return any;
    }

    private void show(int source) {
        for (int c = 0; c < AWAITED.size(); c++) {
            int number = BufferLayout.number(AWAITED.get(c));
            long value = come[source][number];
            if (value > shown[source][number]) {
                shown[source][number] = value;
                words.putLongRelease(layout.counter(AWAITED.get(c), source), value);
            }
        }
    }

    @Override
    public void wake() {
        threads.wake();
    }

    @Override
    public void quiet() {
        threads.quiet();
    }

    @Override
    public void restart(Duration deadline) {
        threads.restart(deadline);
        copies.write(
                heads.memory().address(), Copies.buffer(ringCount * HEAD_BYTES).position(ringCount * HEAD_BYTES));
    }

    @Override
    public boolean finish(Duration deadline) {
        long end = System.nanoTime() + deadline.toNanos();
        threads.wake();
        for (int i = 0; i < ringCount; i++) {
            long put = copies.read(heads.memory().address() + (long) i * HEAD_BYTES, 8)
                    .getLong();
            while (rings.get(i).tail() < put) {
                if (System.nanoTime() - end >= 0) {
                    return false;
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
        return true;
    }

    @Override
    public void retire() {
        synchronized (abort) {
            retired = true;
        }
        threads.stop();
    }

    @Override
    public synchronized boolean end(Duration longest) {
        if (ended) {
            // The rings may have been freed since.
            return true;
        }
        boolean wasRetired;
        synchronized (abort) {
            wasRetired = retired;
            retired = true;
        }
        ProxyThreads.Ended end = threads.close(longest);
        if (end.left() > 0 && !wasRetired) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "rank " + symmetric.rank() + ": " + end.left()
                            + " commands were still in rings when the proxy threads ended, so these commands were not executed; wait"
                            + " until operations have ended before you close the buffer");
        }
        ended = end.running().isEmpty();
        return ended;
    }

    @Override
    public boolean hasGivenUp(int rank) {
        return silent[rank].get();
    }
}
