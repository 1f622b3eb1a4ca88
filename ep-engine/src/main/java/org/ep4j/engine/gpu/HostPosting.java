package org.ep4j.engine.gpu;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.EpConfig;
import org.ep4j.EpPath;
import org.ep4j.EpPeerLostException;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.proxy.CommandRing;
import org.ep4j.engine.proxy.CommandRing.CommandSink;
import org.ep4j.engine.proxy.ProxyThreads;
import org.ep4j.engine.sync.Relays;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.gpu.driver.NicMemory.GpuDirect;
import org.ep4j.gpu.driver.PinnedMemory;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.HostPosted;
import org.ep4j.transport.memory.DeviceAllocation;
import org.ep4j.transport.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/**
 * Posts to the HOST_POSTED peers of a GPU by proxy threads: its kernels put commands into rings, which the threads execute. They also publish
 * arrivals from these peers to words that kernels poll. See {@code host_posted.cu}.
 */
final class HostPosting implements Posting, CommandSink {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private static final int HEAD_BYTES = 16;
    private static final long PAUSE_NANOS = 50_000;

    private static final List<Counter> AWAITED = List.of(Counter.values());

    private final Copies copies;
    private final GpuWindow window;
    private final HostMemory words;
    private final SymmetricMemory symmetric;
    private final BufferLayout layout;
    private final AbortWords abort;
    private final DeviceAllocation heads;
    private final long tableAddress;
    private final List<CommandRing> rings = new ArrayList<>();
    private final ProxyThreads threads;
    private final int threadCount;

    private final List<Source> sources;

    /** By rank: 1 where nothing is posted to it any more, nor its arrivals published. */
    private final AtomicIntegerArray givenUp;

    /** By rank and counter: what has arrived, which the GPU may not see before a flush. An entry is used by its source's thread alone. */
    private final long[][] arrived;

    /** As {@link #arrived}: what the words of {@link #publish} contain, which costs less to read than pinned memory. */
    private final long[][] published;

    /** Whether kernels have stopped using these rings. Guarded by {@code abort}, so that no wait is ended afterwards. */
    private boolean retired;

    /** Guarded by this object. */
    private boolean ended;

    /** A rank that posts, and what reads its counters. */
    private record Source(int rank, HostPosted posted) {}

    /**
     * Starts the proxy threads of a rank.
     *
     * @param owned gets what frees their memory, in the order in which it is allocated
     */
    HostPosting(
            EngineGpu device,
            Copies copies,
            GroupPlan plan,
            SymmetricMemory symmetric,
            GpuWindow window,
            BufferLayout layout,
            Relays relays,
            EpConfig config,
            AbortWords abort,
            Deque<Runnable> owned) {
        this.copies = copies;
        this.window = window;
        this.words = window.words().orElseThrow().memory();
        this.symmetric = symmetric;
        this.layout = layout;
        this.abort = abort;
        int me = symmetric.rank();
        this.sources = new TreeMap<>(symmetric.postedFrom())
                .entrySet().stream()
                        .filter(entry -> plan.pathKind(entry.getKey(), me) == EpPath.Kind.HOST_POSTED)
                        .map(entry -> new Source(entry.getKey(), entry.getValue()))
                        .toList();
        this.givenUp = new AtomicIntegerArray(plan.ranks());
        this.arrived = new long[plan.ranks()][Counter.values().length];
        this.published = new long[plan.ranks()][Counter.values().length];
        int wanted = Math.max(1, plan.proxies(me));
        List<Integer> peers = GpuWindow.remotes(plan, me).stream()
                .filter(peer -> plan.pathKind(me, peer) == EpPath.Kind.HOST_POSTED)
                .toList();
        int ringCount = Math.max(1, Math.min(peers.size(), wanted * EpKeys.PROXY_RINGS.get(config)));
        this.threadCount = Math.min(wanted, ringCount);
        int commands = EpKeys.PROXY_RING_COMMANDS.get(config);
        long ringBytes = CommandRing.bytes(commands);
        PinnedMemory ringMemory = device.allocatePinned(ringCount * ringBytes);
        owned.push(ringMemory::close);
        this.heads = device.allocatePrivate((long) ringCount * HEAD_BYTES);
        owned.push(heads::close);
        for (int i = 0; i < ringCount; i++) {
            rings.add(new CommandRing(ringMemory.memory(), i * ringBytes, commands));
        }
        this.tableAddress = PathTable.write(
                device,
                copies,
                plan,
                me,
                window,
                relays,
                peer -> {
                    int ring = peers.indexOf(peer) % ringCount;
                    return PathTable.Writes.byHost(
                            ringMemory.deviceAddress() + ring * ringBytes,
                            heads.memory().address() + (long) ring * HEAD_BYTES,
                            commands);
                },
                owned);
        this.threads = new ProxyThreads(
                "ep4j-proxy-" + me,
                threadCount,
                rings,
                this,
                this::pollArrivals,
                this::failed,
                EpKeys.PROXY_IDLE_SPIN.get(config));
    }

    @Override
    public long tableAddress() {
        return tableAddress;
    }

    @Override
    public void write(int ring, int peer, long target, long source, long bytes) {
        HostPosted posted = posted(peer);
        if (hasGivenUp(peer)) {
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
        if (!hasGivenUp(peer)) {
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

    private void failed(Throwable failure, int peer) {
        if (peer >= 0 && peer < givenUp.length()) {
            giveUp(peer, failure);
        } else {
            LOG.log(System.Logger.Level.WARNING, "a proxy thread of rank " + symmetric.rank() + " failed", failure);
            synchronized (abort) {
                if (!retired) {
                    abort.all(true);
                }
            }
        }
    }

    /** Ends the waits of kernels for a rank; the exception of the operation gets its reason from the backend. */
    private void giveUp(int peer, Throwable failure) {
        boolean isNew;
        synchronized (abort) {
            isNew = givenUp.compareAndSet(peer, 0, 1);
            if (!retired) {
                abort.rank(peer, true);
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
     * Reads what has arrived from all sources of a thread, makes it visible to the GPU by one flush, and only then publishes it: a
     * completion that the host has seen does not mean that the GPU sees the bytes, see {@link GpuDirect}.
     */
    private boolean pollArrivals(int thread) {
        boolean any = false;
        for (int i = thread; i < sources.size(); i += threadCount) {
            Source source = sources.get(i);
            if (!hasGivenUp(source.rank())) {
                any |= readCounters(source.rank(), source.posted());
            }
        }
        if (any && flush(thread)) {
            for (int i = thread; i < sources.size(); i += threadCount) {
                publish(sources.get(i).rank());
            }
        }
        return any;
    }

    private boolean flush(int thread) {
        try {
            window.flush().run();
            return true;
        } catch (RuntimeException | Error e) {
            // An error that lasts would else come with every poll.
            for (int i = thread; i < sources.size(); i += threadCount) {
                giveUp(sources.get(i).rank(), e);
            }
            return false;
        }
    }

    /**
     * Reads the counters of a source. If the source is lost, its last values still count. It is given up if it was lost before all of them
     * were read: those read before a loss may have grown since.
     */
    private boolean readCounters(int source, HostPosted posted) {
        boolean any = false;
        int losses = 0;
        @Nullable RuntimeException lost = null;
        for (int c = 0; c < AWAITED.size(); c++) {
            int number = BufferLayout.number(AWAITED.get(c));
            try {
                arrived[source][number] = Math.max(arrived[source][number], posted.counter(number, source));
            } catch (RuntimeException e) {
                lost = e;
                losses++;
            }
            // Also what an earlier poll has read, if its flush ended with an error.
            any |= arrived[source][number] > published[source][number];
        }
        if (lost != null && losses == AWAITED.size()) {
            giveUp(source, lost);
        }
        return any;
    }

    /** Stores what has grown into the words that kernels poll, which this thread alone writes. */
    private void publish(int source) {
        for (int c = 0; c < AWAITED.size(); c++) {
            int number = BufferLayout.number(AWAITED.get(c));
            long value = arrived[source][number];
            if (value > published[source][number]) {
                words.putLongRelease(layout.counter(AWAITED.get(c), source), value);
                published[source][number] = value;
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
        int bytes = rings.size() * HEAD_BYTES;
        copies.write(heads.memory().address(), Copies.buffer(bytes).position(bytes));
    }

    @Override
    public boolean finish(Duration deadline) {
        long end = System.nanoTime() + deadline.toNanos();
        threads.wake();
        for (int i = 0; i < rings.size(); i++) {
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
                            + " commands were still in rings when the proxy threads ended, so these commands were not"
                            + " executed; wait until operations have ended before you close the buffer");
        }
        ended = end.running().isEmpty();
        return ended;
    }

    @Override
    public boolean hasGivenUp(int rank) {
        return givenUp.get(rank) != 0;
    }
}
