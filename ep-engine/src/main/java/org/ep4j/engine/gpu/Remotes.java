package org.ep4j.engine.gpu;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.ep4j.DeviceAllocation;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.proxy.CommandRing;
import org.ep4j.engine.proxy.CommandSink;
import org.ep4j.engine.proxy.NumaBinding;
import org.ep4j.engine.proxy.ProxyThreads;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.plan.PathKind;
import org.ep4j.spi.HostPosted;
import org.jspecify.annotations.Nullable;

/**
 * The peers of a GPU that threads of the host post to or that such threads post from: its kernels put commands into rings, and proxy threads post for them and bring what
 * has come to words that kernels look at. See {@code remote.cu}.
 */
final class Remotes implements Posting {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** Bytes of {@code struct Fifo}. */
    static final int RING_BYTES = 24;

    private static final int HEAD_BYTES = 16;
    private static final Duration END = Duration.ofSeconds(5);
    private static final long PAUSE_NANOS = 50_000;

    /** Those that kernels wait for; the host looks at the last one itself. */
    private static final List<Counter> AWAITED =
            Arrays.stream(Counter.values()).filter(c -> c != Counter.RECOVER).toList();

    private final GpuDevice device;
    private final Copies copies;
    private final GpuWindow window;
    private final HostMemory words;
    private final SymmetricMemory symmetric;
    private final BufferLayout layout;
    private final Abort abort;
    private final PinnedMemory ringMemory;
    private final DeviceAllocation heads;
    /** By peer: its index among those that threads of the host post to. */
    private final int[] indexes;

    private final int commands;
    private final long ringBytes;
    private final int ringCount;
    private final List<CommandRing> rings;
    private final ProxyThreads threads;
    private final int threadCount;

    private final List<Source> sources;

    /** By rank: nothing comes from it any more, until a recovery. */
    private final AtomicBoolean[] silent;

    /** By rank and counter: what has come, and what of it kernels have been shown; each entry is its source's thread's. */
    private final long[][] come;

    private final long[][] shown;

    /** A rank that posts, and how it is heard. */
    private record Source(int rank, HostPosted posted) {}

    /**
     * Starts the proxy threads of a rank.
     *
     * @param owned gets what ends them and frees their memory, in the order in which it is allocated
     */
    Remotes(
            GpuDevice device,
            Copies copies,
            EpPlan plan,
            PostedPaths paths,
            SymmetricMemory symmetric,
            GpuWindow window,
            BufferLayout layout,
            EpConfig config,
            Abort abort,
            Deque<Runnable> owned) {
        this.device = device;
        this.copies = copies;
        this.window = window;
        this.words = window.words().orElseThrow().memory();
        this.symmetric = symmetric;
        this.layout = layout;
        this.abort = abort;
        this.sources = new TreeMap<>(symmetric.postedFrom())
                .entrySet().stream()
                        .filter(entry -> !paths.isByDevice(entry.getKey(), symmetric.rank()))
                        .map(entry -> new Source(entry.getKey(), entry.getValue()))
                        .toList();
        this.silent = new AtomicBoolean[plan.ranks()];
        this.come = new long[plan.ranks()][Counter.values().length];
        this.shown = new long[plan.ranks()][Counter.values().length];
        for (int r = 0; r < silent.length; r++) {
            silent[r] = new AtomicBoolean();
        }
        List<Integer> posted = paths.to(symmetric.rank(), PathKind.HOST_POSTED);
        this.indexes = paths.indexes(posted);
        int wanted = Math.max(1, plan.proxies(symmetric.rank()));
        this.ringCount = Math.max(1, Math.min(posted.size(), wanted * config.get(EpKeys.PROXY_RINGS)));
        this.threadCount = Math.min(wanted, ringCount);
        this.commands = config.get(EpKeys.PROXY_RING_COMMANDS);
        this.ringBytes = CommandRing.bytes(commands);
        Optional<Integer> node = numaNode(plan, symmetric.rank());
        this.ringMemory = NumaBinding.near(node, () -> device.allocatePinned(ringCount * ringBytes));
        owned.push(ringMemory::close);
        this.heads = device.allocatePrivate((long) ringCount * HEAD_BYTES);
        owned.push(heads::close);
        this.rings = new ArrayList<>();
        for (int i = 0; i < ringCount; i++) {
            rings.add(new CommandRing(ringMemory.memory(), i * ringBytes, commands));
        }
        this.threads = new ProxyThreads(
                "ep4j-proxy-" + symmetric.rank(),
                threadCount,
                rings,
                new Sink(),
                this::lookAtArrivals,
                this::failed,
                node,
                config.get(EpKeys.PROXY_IDLE_SPIN));
        owned.push(this::stop);
    }

    /** Of the GPU, whose nearest NICs are at it too; empty where the machine does not tell. */
    static Optional<Integer> numaNode(EpPlan plan, int rank) {
        int numa = plan.profiles().get(rank).locality().numa();
        return numa < 0 ? Optional.empty() : Optional.of(numa);
    }

    /** Lets kernels' and the host's threads post to the same peers, each by its window. */
    static SymmetricMemory shared(SymmetricMemory symmetric, PostedPaths paths, GpuWindows windows) {
        IdentityHashMap<HostPosted, SharedPosted> wrapped = new IdentityHashMap<>();
        Map<Integer, HostPosted> to = new TreeMap<>();
        Map<Integer, HostPosted> from = new TreeMap<>();
        Map<Integer, SymmetricMemory.Window> windowTo = new TreeMap<>();
        Map<Integer, SymmetricMemory.Window> windowFrom = new TreeMap<>();
        int rank = symmetric.rank();
        int ranks = symmetric.ranks();
        symmetric.postedTo().forEach((r, p) -> {
            to.put(r, wrapped.computeIfAbsent(p, other -> new SharedPosted(other, ranks)));
            windowTo.put(r, windows.of(paths, rank, r).map(GpuWindow::asWindow).orElseThrow());
        });
        symmetric.postedFrom().forEach((r, p) -> {
            from.put(r, wrapped.computeIfAbsent(p, other -> new SharedPosted(other, ranks)));
            windowFrom.put(
                    r, windows.of(paths, r, rank).map(GpuWindow::asWindow).orElseThrow());
        });
        return new SymmetricMemory(rank, ranks, symmetric.local(), symmetric.mapped(), to, from, windowTo, windowFrom);
    }

    /** Puts {@code struct Fifo} of a peer: the ring of its commands. */
    void putRing(ByteBuffer words, int peer) {
        int ring = indexes[peer] % ringCount;
        words.putLong(ringMemory.deviceAddress() + ring * ringBytes)
                .putLong(heads.memory().address() + (long) ring * HEAD_BYTES)
                .putLong(commands);
    }

    private final class Sink implements CommandSink {
        @Override
        public void write(int ring, int peer, long target, long source, long bytes) {
            posted(peer).write(peer, target, source, bytes);
        }

        @Override
        public void advance(int ring, int peer, int counter, long value) {
            posted(peer).advance(peer, counter, value);
        }

        private HostPosted posted(int peer) {
            HostPosted posted = symmetric.postedTo().get(peer);
            if (posted == null) {
                throw new IllegalArgumentException("a kernel posts to rank " + peer + ", which is not posted to");
            }
            return posted;
        }
    }

    private void failed(int ring, int peer, Throwable failure) {
        if (peer >= 0 && peer < silent.length) {
            giveUp(peer, failure);
        } else {
            LOG.log(System.Logger.Level.WARNING, "a proxy thread of rank " + symmetric.rank() + " failed", failure);
            abort.all();
        }
    }

    /** Kernels that wait for it end; whoever explains that asks the backend again. */
    private void giveUp(int peer, Throwable failure) {
        if (silent[peer].compareAndSet(false, true)) {
            LOG.log(
                    failure instanceof EpPeerLostException ? System.Logger.Level.DEBUG : System.Logger.Level.WARNING,
                    "rank " + symmetric.rank() + " gives up rank " + peer,
                    failure);
        }
        abort.waitsFor(peer);
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
                long value = posted.seen(number, source);
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
    public void finish(Duration deadline) {
        awaitTaken(Deadline.in(deadline));
    }

    /** Gives how many commands are left at the deadline. */
    private long awaitTaken(Deadline deadline) {
        threads.wake();
        long left = 0;
        for (int i = 0; i < ringCount; i++) {
            long put = copies.read(heads.memory().address() + (long) i * HEAD_BYTES, 8)
                    .getLong();
            while (rings.get(i).tail() < put && !deadline.passed()) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
            left += Math.max(0, put - rings.get(i).tail());
        }
        return left;
    }

    @Override
    public void settle(Deadline deadline) {
        long left = awaitTaken(deadline);
        if (left > 0) {
            throw new EpTimeoutException(
                    left + " commands of kernels were not posted within "
                            + deadline.whole().toMillis()
                            + " ms: a thread is inside of a call that posts; see whether a rank takes nothing, and what"
                            + " threads named ep4j-proxy do (jstack)",
                    "recover",
                    -1,
                    0,
                    left);
        }
    }

    @Override
    public void recovered(Mask mask) {
        for (int r = 0; r < silent.length; r++) {
            if (!mask.has(r)) {
                threads.restore(r);
                silent[r].set(false);
            }
        }
    }

    @Override
    public void stop() {
        ProxyThreads.Ended ended = threads.close(END);
        if (!ended.running().isEmpty()) {
            device.keep();
            LOG.log(
                    System.Logger.Level.WARNING,
                    "pinned memory of " + device.id() + " stays until the process ends, since " + ended.running()
                            + " may still use it");
        }
    }
}
