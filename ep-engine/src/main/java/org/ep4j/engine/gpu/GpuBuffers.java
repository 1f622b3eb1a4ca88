package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import org.ep4j.BufferSize;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpArgumentException;
import org.ep4j.EpBuffer;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.DeathProof;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Rails;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.engine.sync.Waits;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.DevicePosted;

/** Makes buffers of the GPU engine. */
public final class GpuBuffers {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** One thread for all buffers. */
    private static final Cleaner CLEANER = Cleaner.create();

    private GpuBuffers() {}

    /**
     * Checks what is more limited on a GPU than on the host.
     *
     * @throws EpArgumentException when kernels of {@code device} cannot serve the shape with so many ranks
     */
    public static void check(EpShape shape, int ranks, GpuDevice device) {
        if (ranks > Pieces.MOST_RANKS) {
            throw new EpArgumentException(
                    "ranks",
                    ranks,
                    "at most " + Pieces.MOST_RANKS + " with GPUs, whose kernels know each rank in shared memory",
                    "divide the ranks into groups");
        }
        int needed = LowLatencyPieces.leastSharedBytes(new BufferLayout(shape, ranks).messageHead(), ranks);
        int shared = device.facts().sharedBytes();
        if (shape.maxLowLatencyTokens() > 0 && needed > shared) {
            throw new EpArgumentException(
                    "hidden, topK and ranks",
                    shape.hidden() + ", " + shape.topK() + " and " + ranks + ", which take " + needed
                            + " bytes of shared memory in low latency",
                    "at most " + shared + " bytes, which a block on " + device.id() + " may have",
                    "lower one of them, or leave low latency out (maxLowLatencyTokens 0)");
        }
    }

    /**
     * Makes a buffer over symmetric memory.
     *
     * @param rails of the group's plan
     * @param given memory of all ranks
     * @param fresh makes it anew where a rank may still reach it that the others go on without
     * @param proofs which ranks are gone
     * @param windows by which it exchanges with peers that it posts to, or that post to it; freed with the memory
     * @param freeSymmetric gives the memory back; called once by the buffer, and not when this call fails
     */
    public static EpBuffer create(
            EpGroup group,
            GpuDevice device,
            Bootstrap bootstrap,
            String name,
            EpShape shape,
            BufferSize size,
            Rails rails,
            SymmetricMemory given,
            GpuWindows windows,
            FreshGpuMemory fresh,
            DeathProof proofs,
            Runnable freeSymmetric,
            EpConfig config) {
        Deque<Runnable> owned = new ArrayDeque<>();
        PostedPaths paths = PostedPaths.of(group.plan());
        try {
            return make(
                    group,
                    device,
                    bootstrap,
                    name,
                    shape,
                    size,
                    rails,
                    paths,
                    shared(given, paths, windows),
                    windows,
                    fresh,
                    proofs,
                    owned,
                    freeSymmetric,
                    config);
        } catch (RuntimeException | Error e) {
            owned.forEach(GpuBuffers::release);
            throw e;
        }
    }

    /** Symmetric memory to whose posted peers kernels and the host post side by side. */
    private static SymmetricMemory shared(SymmetricMemory given, PostedPaths paths, GpuWindows windows) {
        return paths.any() ? Remotes.shared(given, paths, windows) : given;
    }

    /** Frees one thing; where that fails, as it does on a GPU that has failed, the others are freed all the same. */
    static void release(Runnable owned) {
        try {
            owned.run();
        } catch (RuntimeException | Error e) {
            LOG.log(System.Logger.Level.WARNING, () -> "memory of a buffer could not be given back: " + e.getMessage());
        }
    }

    private static EpBuffer make(
            EpGroup group,
            GpuDevice device,
            Bootstrap bootstrap,
            String name,
            EpShape shape,
            BufferSize size,
            Rails rails,
            PostedPaths paths,
            SymmetricMemory symmetric,
            GpuWindows first,
            FreshGpuMemory fresh,
            DeathProof proofs,
            Deque<Runnable> owned,
            Runnable freeSymmetric,
            EpConfig config) {
        int ranks = group.size();
        int rank = group.rank();
        Duration timeout = config.get(EpKeys.TIMEOUT);
        ExpertPlacement placement = shape.placementFor(ranks);
        Copies copies = new Copies(device);
        owned.push(copies::close);
        LocalLayout local = new LocalLayout(shape, placement, rank);
        // Those of each generation of memory.
        List<GpuWindow> windows = new CopyOnWriteArrayList<>(first.all());
        Peers<DeviceWords> peers = new Peers<>(
                group.plan(),
                new BufferLayout(shape, ranks),
                symmetric,
                m -> new DeviceWords(copies, device.id(), m, flush(windows, m)),
                Deadline.in(timeout));
        Waits waits =
                new Waits(peers, bootstrap, proofs, group.plan().hostRanks(rank).size());
        ResultMemory results = new ResultMemory(device, local);
        owned.push(results::close);
        Processors processors =
                Processors.of(config, device, shape, group.plan().profiles(), rank);
        owned.push(processors::close);
        GpuState state = new GpuState(
                device,
                shape,
                placement,
                peers,
                waits,
                results,
                own(device.allocatePrivate(Temporary.bytes(shape, ranks)), owned),
                processors,
                paths.any(),
                first,
                new CopyOnWriteArrayList<>());
        // Of all generations: a call for one must not come between another one and a move.
        ReentrantLock lock = new ReentrantLock(true);
        GpuGeneration oldest = generation(group, paths, state, symmetric, copies, rails, owned, lock, config);
        return new GpuBuffer(
                group,
                bootstrap,
                name,
                size,
                oldest,
                (moved, movedWindows) -> {
                    windows.addAll(movedWindows.all());
                    Deque<Runnable> own = new ArrayDeque<>();
                    try {
                        SymmetricMemory memory = shared(moved, paths, movedWindows);
                        return new GpuBuffer.Moved(
                                memory,
                                generation(
                                        group,
                                        paths,
                                        state.with(movedWindows),
                                        memory,
                                        copies,
                                        rails,
                                        own,
                                        lock,
                                        config));
                    } catch (RuntimeException | Error e) {
                        own.forEach(GpuBuffers::release);
                        throw e;
                    }
                },
                fresh,
                proofs,
                timeout,
                freeSymmetric);
    }

    /** What kernels work with in {@code symmetric}. */
    private static GpuGeneration generation(
            EpGroup group,
            PostedPaths paths,
            GpuState state,
            SymmetricMemory symmetric,
            Copies copies,
            Rails rails,
            Deque<Runnable> owned,
            ReentrantLock lock,
            EpConfig config) {
        GpuDevice device = state.device();
        EpShape shape = state.shape();
        ExpertPlacement placement = state.placement();
        GpuWindows windows = state.windows();
        Waits waits = state.waits();
        int ranks = group.size();
        int rank = group.rank();
        DeviceState deviceState = new DeviceState(device, copies, ranks);
        owned.push(deviceState::close);
        Abort abort = new Abort(device, ranks);
        owned.push(abort::close);
        Failures failures = new Failures(device.allocatePinned(Failures.BYTES), shape, rank, waits);
        owned.push(failures::close);
        Optional<DevicePosted> posted = windows.device().flatMap(GpuWindow::posted);
        Optional<WindowLayout> layout = paths.layout(shape, rails);
        String source =
                KernelSource.of(shape, ranks, device.facts().sharedBytes(), layout, posted.isPresent(), paths.mixed());
        GpuModule module = load(device, source, posted, Publishing.isRelaxed(device, config), owned);
        Optional<Remotes> remotes = windows.host()
                .map(window -> new Remotes(
                        device,
                        copies,
                        group.plan(),
                        paths,
                        symmetric,
                        window,
                        state.symmetricLayout(),
                        config,
                        abort,
                        owned));
        long table = layout.map(windowLayout -> new RemoteTable(
                                paths,
                                symmetric,
                                windows,
                                windowLayout,
                                remotes,
                                rails,
                                state.symmetricLayout().bytes())
                        .write(device, copies, owned))
                .orElse(0L);
        // The window that kernels post from, where there is one; otherwise the only window.
        Optional<GpuWindow> window = windows.device().or(() -> paths.mixed() ? Optional.empty() : windows.host());
        Launcher launcher = new Launcher(device, module, KernelSource.kernels(source));
        Arguments common = new Arguments()
                .set(
                        Param.PEERS,
                        table(
                                device,
                                copies,
                                IntStream.range(0, ranks)
                                        .mapToLong(r -> address(symmetric, r, windows.of(paths, rank, r)))
                                        .toArray(),
                                owned))
                .set(Param.LOCAL, symmetric.local().address())
                .set(Param.STATE, deviceState.address())
                .set(Param.FAILURE, failures.deviceAddress())
                .set(Param.ABORT, abort.deviceAddress())
                .set(Param.RANK, rank)
                .set(Param.LOCAL_EXPERTS, placement.localExperts(rank))
                .set(Param.OWNER, experts(device, copies, shape, owned, placement::rankOf))
                .set(Param.LOCAL_OF, experts(device, copies, shape, owned, placement::localIndex))
                .set(Param.TEMPORARY, state.temporary().address())
                .set(Param.REMOTES, table)
                .set(Param.WINDOW, window.map(GpuWindow::address).orElse(0L))
                .set(Param.WORDS, window.map(w -> w.counters().address()).orElse(0L))
                .set(Param.HOST_WINDOW, windows.host().map(GpuWindow::address).orElse(0L));
        Posting posting = remotes.map(r -> (Posting) r).orElse(Posting.NONE);
        Duration timeout = config.get(EpKeys.TIMEOUT);
        Operations operations = new Operations(
                device,
                launcher,
                failures,
                deviceState,
                abort,
                waits,
                state.processors(),
                posting,
                common,
                timeout,
                CLEANER,
                lock);
        owned.push(operations::free);
        HighThroughput highThroughput = new HighThroughput(state, CLEANER);
        owned.push(highThroughput::close);
        LowLatency lowLatency = new LowLatency(state, operations, CLEANER);
        owned.push(lowLatency::close);
        return new GpuGeneration(state, deviceState, operations, highThroughput, lowLatency, posting, owned);
    }

    private static GpuModule load(
            GpuDevice device, String source, Optional<DevicePosted> posted, boolean relaxed, Deque<Runnable> owned) {
        String name = "ep4j kernels";
        GpuModule module = posted.map(p -> device.load(name, source, p.code()))
                .orElseGet(() -> relaxed ? device.loadRelaxed(name, source) : device.load(name, source));
        owned.push(module::close);
        posted.ifPresent(p -> {
            p.attach(module.handle());
            owned.push(() -> p.detach(module.handle()));
        });
        return module;
    }

    /** NICs write into the window alone. */
    private static Runnable flush(List<GpuWindow> windows, DeviceMemory memory) {
        return windows.stream()
                .filter(w -> w.exposed().memory().equals(memory))
                .findFirst()
                .map(GpuWindow::flush)
                .orElse(() -> {});
    }

    /** Address of a rank's memory as kernels store into it; that of ranks which are posted to is the window's, of lost ones 0. */
    private static long address(SymmetricMemory symmetric, int rank, Optional<GpuWindow> window) {
        if (rank == symmetric.rank()) {
            return symmetric.local().address();
        }
        DeviceMemory mapped = symmetric.mapped().get(rank);
        if (mapped != null) {
            return mapped.address();
        }
        return symmetric.postedTo().containsKey(rank)
                ? window.map(GpuWindow::address).orElse(0L)
                : 0;
    }

    private static DeviceMemory own(DeviceAllocation allocation, Deque<Runnable> owned) {
        owned.push(allocation::close);
        return allocation.memory();
    }

    private static long table(GpuDevice device, Copies copies, long[] values, Deque<Runnable> owned) {
        DeviceMemory memory = own(device.allocatePrivate(8L * values.length), owned);
        ByteBuffer words = ByteBuffer.allocateDirect(8 * values.length).order(ByteOrder.nativeOrder());
        words.asLongBuffer().put(values);
        copies.write(memory.address(), words.position(words.capacity()));
        return memory.address();
    }

    /** A number for every expert. */
    private interface OfExpert {
        int number(int expert);
    }

    private static long experts(GpuDevice device, Copies copies, EpShape shape, Deque<Runnable> owned, OfExpert of) {
        DeviceMemory memory = own(device.allocatePrivate(4L * shape.experts()), owned);
        ByteBuffer words = ByteBuffer.allocateDirect(4 * shape.experts()).order(ByteOrder.nativeOrder());
        for (int e = 0; e < shape.experts(); e++) {
            words.putInt(of.number(e));
        }
        copies.write(memory.address(), words);
        return memory.address();
    }
}
