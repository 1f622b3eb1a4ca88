package org.ep4j.engine;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.BufferSize;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpGroup;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPath;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpPlan;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpTraffic;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.buffer.BufferContext;
import org.ep4j.engine.gpu.GpuBuffers;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.gpu.WindowPlacement;
import org.ep4j.engine.host.HostBuffers;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.membership.BufferMembership;
import org.ep4j.engine.membership.ControlSlots;
import org.ep4j.engine.membership.LivenessLocks;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.gpu.driver.EngineGpu;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.AllocatesMemory;
import org.ep4j.spi.AllocatesMemory.Purpose;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.RegistersMemory;
import org.ep4j.spi.SymmetricBuffer;
import org.ep4j.transport.Failures;
import org.ep4j.transport.KnownPeers;
import org.ep4j.transport.NanoClock;
import org.ep4j.transport.memory.EngineDevice;
import org.ep4j.transport.memory.HostDevice;
import org.ep4j.transport.memory.HostMemory;
import org.jspecify.annotations.Nullable;

/** A group whose backends are open. */
final class Group implements EpGroup {
    private final Bootstrap bootstrap;
    private final EpConfig config;
    private final Tuning tuning;
    private final Duration setup;
    private final GroupPlan plan;
    private final EngineDevice device;
    private final OpenBackends backends;
    private final CollectiveSteps steps;
    private final KnownPeers known;
    private final UsablePaths paths;
    private final LivenessLocks locks;
    private final String cannotMove;
    private final SymmetricMemoryFactory factory;
    private final Map<String, EpBuffer> buffers = new LinkedHashMap<>();
    private int created;
    private int barriers;
    private boolean closed;

    /**
     * Creates a group that has been joined.
     *
     * @param tuning settings of buffers whose shape was measured
     * @param locks closed with {@code bootstrap}
     * @param cannotMove why buffers cannot move into fresh memory, and so not recover; empty if they can. The same on all ranks
     */
    Group(
            Bootstrap bootstrap,
            EpConfig config,
            Tuning tuning,
            GroupPlan plan,
            EngineDevice device,
            OpenBackends backends,
            LivenessLocks locks,
            String cannotMove) {
        this.bootstrap = bootstrap;
        this.config = config;
        this.tuning = tuning;
        this.setup = EpKeys.SETUP_TIMEOUT.get(config);
        this.plan = plan;
        this.device = device;
        this.backends = backends;
        this.steps = new CollectiveSteps(bootstrap, EpException.Recourse.INSTALL);
        this.known = new KnownPeers(plan, bootstrap.rank());
        this.paths = new UsablePaths(plan, bootstrap.rank());
        this.factory = new SymmetricMemoryFactory(device, backends, paths);
        this.locks = locks;
        this.cannotMove = cannotMove;
    }

    @Override
    public int rank() {
        return bootstrap.rank();
    }

    @Override
    public int size() {
        return bootstrap.size();
    }

    @Override
    public EpDevice device() {
        return device;
    }

    @Override
    public EpPlan plan() {
        return plan;
    }

    @Override
    public Set<Integer> lostRanks() {
        return IntStream.range(0, size())
                .filter(r -> bootstrap.state(r) == MemberState.LOST)
                .boxed()
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Override
    public BufferSize bufferSize(EpShape shape) {
        return Engine.size(shape, plan, rank(), paths.relays());
    }

    @Override
    public EpBuffer createBuffer(EpShape shape) {
        try {
            return create(shape);
        } catch (EpException e) {
            throw Failures.rejoin(e, known);
        }
    }

    private EpBuffer create(EpShape shape) {
        int number;
        synchronized (this) {
            checkOpen();
            number = created++;
        }
        String name = "buffer-" + number;
        // Named after the call: an error of the others names a rank that never calls it.
        String step = "createBuffer " + number + ": shape";
        BufferSize size = steps.attempt(step, () -> setup, () -> bufferSize(shape));
        Optional<GpuWindow> window = steps.attempt(step, () -> setup, () -> window(shape));
        try {
            String mine = shape + " with " + ShapeSizes.placement(shape, size());
            checkSameShape(steps.exchange(step, mine.getBytes(StandardCharsets.UTF_8), setup));
        } catch (RuntimeException | Error e) {
            window.ifPresent(GpuWindow::close);
            throw e;
        }
        EpBuffer buffer = steps.attempt(name, () -> setup, () -> create(number, name, shape, size, window));
        steps.confirm(name, setup, buffer::close);
        synchronized (this) {
            if (!closed) {
                buffers.put(name, buffer);
                return buffer;
            }
        }
        buffer.close();
        throw new EpStateException("the group was closed while " + name + " was created; join again");
    }

    /** Created before the ranks agree on the shape, so that a failure of one rank stops the others at once. */
    private Optional<GpuWindow> window(EpShape shape) {
        if (device instanceof EngineGpu gpu) {
            GpuBuffers.check(shape, size(), gpu);
            GpuBuffers.checkPublishing(gpu, backends.byId().values(), config);
        }
        return windows(shape).map(Supplier::get);
    }

    /** Creates windows, if this rank is a GPU and no backend allocates them. */
    private Optional<Supplier<GpuWindow>> windows(EpShape shape) {
        if (!(device instanceof EngineGpu gpu)) {
            return Optional.empty();
        }
        return GpuWindow.layout(shape, plan, paths.relays())
                .filter(layout -> backends.allocator(Purpose.DEVICE_POSTED).isEmpty())
                .map(layout -> () -> placement(gpu).place(layout));
    }

    private WindowPlacement placement(EngineGpu gpu) {
        return new WindowPlacement(gpu, plan, rank(), backends.registering(), config);
    }

    private static void checkSameShape(List<byte[]> all) {
        List<String> shapes =
                all.stream().map(b -> new String(b, StandardCharsets.UTF_8)).toList();
        for (int r = 1; r < shapes.size(); r++) {
            if (!shapes.get(r).equals(shapes.get(0))) {
                throw new EpMismatchException("rank 0 creates a buffer of " + shapes.get(0) + ", rank " + r
                        + " a buffer of " + shapes.get(r) + "; pass the same shape on all ranks");
            }
        }
    }

    private EpBuffer create(int number, String name, EpShape shape, BufferSize size, Optional<GpuWindow> placed) {
        List<SymmetricBuffer> exposed = new ArrayList<>();
        String step = name + "-window";
        Optional<GpuWindow> window = placed.or(() -> allocatedWindow(step, shape, exposed));
        if (GpuWindow.isInGroup(plan, EpPath.Kind.DEVICE_POSTED)) {
            // A rank that fails here fails the others before a backend begins the next collective allocation.
            steps.confirm(step, setup, () -> {
                exposed.forEach(SymmetricBuffer::close);
                window.ifPresent(GpuWindow::close);
            });
        }
        long bytes = size.symmetricBytes() - window.map(w -> w.layout().bytes()).orElse(0L);
        Optional<Movable> movable;
        try {
            movable = cannotMove.isEmpty() ? Optional.of(movable(number, name, shape, bytes)) : Optional.empty();
        } catch (RuntimeException | Error e) {
            exposed.forEach(SymmetricBuffer::close);
            window.ifPresent(GpuWindow::close);
            throw e;
        }
        SymmetricMemoryFactory.Created memory;
        try {
            memory = factory.create(bytes, window, exposed, allRanks(name));
        } catch (RuntimeException | Error e) {
            movable.ifPresent(one -> one.memory().close());
            throw e;
        }
        movable.ifPresent(one -> one.memory().first(window, memory.free()));
        Runnable free = () -> {
            synchronized (this) {
                buffers.remove(name);
            }
            // A thread that awaits an operation of a closed buffer may still ask whether this rank was left out.
            movable.ifPresent(one -> one.resources().membership().close());
            movable.ifPresentOrElse(one -> one.memory().close(), memory.free());
        };
        Recoverer.Recoverability recoverability =
                new Recoverer.Recoverability(movable.map(Movable::resources), cannotMove);
        BufferContext context = new BufferContext(
                this,
                plan,
                bootstrap,
                name,
                shape,
                size,
                paths.relays(),
                memory.memory(),
                free,
                recoverability,
                tuning.config(shape));
        return device instanceof EngineGpu gpu
                ? GpuBuffers.create(
                        context,
                        gpu,
                        () -> movable.map(one -> one.memory().window()).orElse(window))
                : HostBuffers.create(context);
    }

    private SymmetricMemoryFactory.Members allRanks(String name) {
        return new SymmetricMemoryFactory.Members(
                IntStream.range(0, size()).boxed().toList(),
                steps,
                name + "-allocated",
                () -> setup,
                name,
                UnaryOperator.identity());
    }

    /** The memory of a buffer that can move, and the resources of its recovery. */
    private record Movable(MovableMemory memory, Recoverer.Resources resources) {}

    private Movable movable(int number, String name, EpShape shape, long bytes) {
        String control = name + "-control";
        long controlBytes = BufferMembership.bytes(size());
        MovableMemory memory = new MovableMemory(
                name,
                bytes,
                plan,
                factory,
                windows(shape),
                device instanceof HostDevice ? exposed(control, controlBytes) : shared(number, control, controlBytes));
        try {
            String step = name + "-membership";
            BufferMembership membership = steps.attempt(step, () -> setup, () -> membership(number, memory.control()));
            steps.exchange(step, new byte[0], setup);
            return new Movable(memory, new Recoverer.Resources(membership, memory));
        } catch (RuntimeException | Error e) {
            memory.close();
            throw e;
        }
    }

    private BufferMembership membership(int number, ControlSlots.Memory control) {
        Duration silence = EpKeys.TIMEOUT.get(config).plus(EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.get(config));
        return new BufferMembership(
                number,
                control,
                locks,
                bootstrap,
                NanoClock.SYSTEM,
                new BufferMembership.SilenceLimit(silence, EpKeys.RECOVER_ALONE.get(config)),
                known);
    }

    private MovableMemory.Control exposed(String name, long bytes) {
        SymmetricMemoryFactory.Created created = factory.create(bytes, Optional.empty(), List.of(), allRanks(name));
        SymmetricMemory memory = created.memory();
        Map<Integer, HostMemory> mapped = new TreeMap<>();
        memory.mapped().forEach((r, theirs) -> mapped.put(r, HostMemory.of(theirs)));
        return new MovableMemory.Control(
                new ControlSlots.Memory(HostMemory.of(memory.local()), mapped, memory.postedTo()), created.free());
    }

    /**
     * Creates control memory for GPUs, whose memory the host cannot read, in the files of the ranks' locks: peers that map this rank's
     * memory map the file, and the others post to it.
     */
    private MovableMemory.Control shared(int number, String step, long bytes) {
        LivenessLocks.Shared shared =
                steps.attempt(step, () -> setup, () -> locks.share(number, bytes, paths.mapped()));
        Map<String, SymmetricBuffer> posting = new TreeMap<>();
        Runnable free = () -> {
            // NICs deregister memory before it is unmapped.
            posting.values().forEach(SymmetricBuffer::close);
            shared.close();
        };
        try {
            steps.exchange(step, new byte[0], setup);
            ExposedMemory own = ExposedMemory.of(shared.own());
            for (EpBackend backend : backends.registering()) {
                RegistersMemory registers = backend.as(RegistersMemory.class).orElseThrow();
                posting.put(backend.id(), registers.register(step, own, setup));
            }
            return new MovableMemory.Control(
                    new ControlSlots.Memory(HostMemory.of(shared.own()), shared.peers(), paths.posted(posting)), free);
        } catch (RuntimeException | Error e) {
            free.run();
            throw e;
        }
    }

    /** Allocates the window of a rank whose kernels post, together with all ranks of the backend; NICs of other backends register it, too. */
    private Optional<GpuWindow> allocatedWindow(String name, EpShape shape, List<SymmetricBuffer> exposed) {
        Optional<EpBackend> backend = backends.allocator(Purpose.DEVICE_POSTED);
        if (backend.isEmpty() || !(device instanceof EngineGpu gpu)) {
            return Optional.empty();
        }
        AllocatesMemory allocator = backend.get().as(AllocatesMemory.class).orElseThrow();
        try {
            return GpuWindow.layout(shape, plan, paths.relays()).map(layout -> {
                SymmetricBuffer buffer = allocator.allocate(name, layout.bytes(), Purpose.DEVICE_POSTED, setup);
                exposed.add(buffer);
                return placement(gpu)
                        .share(
                                GpuWindow.devicePosted(layout, buffer),
                                backend.get().id());
            });
        } catch (RuntimeException | Error e) {
            exposed.forEach(SymmetricBuffer::close);
            // Else other ranks may still be in a step of the backend.
            if (!(e instanceof EpTimeoutException || e instanceof EpPeerLostException)) {
                steps.refuse(name, e, setup);
            }
            throw e;
        }
    }

    @Override
    public List<EpTraffic> traffic() {
        return backends.traffic();
    }

    @Override
    public void barrier(Duration timeout) {
        String tag;
        synchronized (this) {
            checkOpen();
            tag = "barrier " + barriers++;
        }
        Set<Integer> lost = lostRanks();
        while (true) {
            try {
                barrier(tag, lost, timeout);
                return;
            } catch (EpException e) {
                Set<Integer> now = lostRanks();
                if (!(e instanceof EpPeerLostException) || now.equals(lost)) {
                    // The number is used up: a rank that has called it and one that has not would stay one call apart.
                    throw Failures.rejoin(e, known);
                }
                // A rank died before it called barrier: all others see that too, and continue without it.
                lost = now;
            }
        }
    }

    private void barrier(String tag, Set<Integer> without, Duration timeout) {
        if (without.isEmpty()) {
            bootstrap.barrier(tag, timeout);
            return;
        }
        List<Integer> rest = IntStream.range(0, size())
                .filter(r -> !without.contains(r))
                .boxed()
                .toList();
        try (Bootstrap survivors = bootstrap.subgroup(tag + "-without-" + without, rest)) {
            survivors.barrier(tag, timeout);
        } catch (EpPeerLostException e) {
            // The peer is a rank of the subgroup; -1 is a dead rank that ran the hub.
            EpFailure failure = inGroup(e.failure(), rest, Collections.min(without));
            throw Failures.with(e, failure, EpException.Recourse.REJOIN);
        } catch (EpTimeoutException e) {
            throw Failures.with(e, inGroup(e.failure(), rest, -1), EpException.Recourse.REJOIN);
        }
    }

    private EpFailure inGroup(EpFailure failure, List<Integer> members, int otherwise) {
        int peer = failure.peer() < 0 ? otherwise : members.get(failure.peer());
        return known.apply(failure.toBuilder().peer(peer).build());
    }

    private void checkOpen() {
        if (closed) {
            throw new EpStateException("the group is closed; join again");
        }
    }

    @Override
    public void close() {
        List<EpBuffer> open;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            open = new ArrayList<>(buffers.values());
        }
        List<Runnable> all = new ArrayList<>();
        for (int i = open.size() - 1; i >= 0; i--) {
            all.add(open.get(i)::close);
        }
        all.addAll(List.of(backends::release, device::close, bootstrap::close));
        closeAll(all);
    }

    /** Runs all steps, also if one fails, since other ranks would wait for this one. Throws the first failure. */
    static void closeAll(List<Runnable> steps) {
        @Nullable Throwable first = null;
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException | Error e) {
                if (first == null) {
                    first = e;
                } else if (e != first) {
                    first.addSuppressed(e);
                }
            }
        }
        if (first instanceof RuntimeException failure) {
            throw failure;
        }
        if (first instanceof Error error) {
            throw error;
        }
    }

    @Override
    public String toString() {
        return "rank " + rank() + " of " + size() + " over " + backends.byId().keySet();
    }
}
