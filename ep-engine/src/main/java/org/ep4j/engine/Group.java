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
import org.ep4j.EpPeerLostException;
import org.ep4j.EpPlan;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpTraffic;
import org.ep4j.config.EpKeys;
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
    private final GroupPlan plan;
    private final EngineDevice device;
    private final OpenBackends backends;
    private final Agreement agreement;
    private final KnownPeers known;
    private final UsablePaths paths;
    private final LivenessLocks locks;
    private final String cannotMove;
    private final MemoryMaker maker;
    private final Map<String, EpBuffer> buffers = new LinkedHashMap<>();
    private int created;
    private int barriers;
    private boolean closed;

    /**
     * A group that has been joined.
     *
     * @param locks closed with {@code bootstrap}
     * @param cannotMove why buffers cannot move into fresh memory, and so not recover; empty if they can. The same on all ranks
     */
    Group(
            Bootstrap bootstrap,
            EpConfig config,
            GroupPlan plan,
            EngineDevice device,
            OpenBackends backends,
            LivenessLocks locks,
            String cannotMove) {
        this.bootstrap = bootstrap;
        this.config = config;
        this.plan = plan;
        this.device = device;
        this.backends = backends;
        this.agreement = new Agreement(bootstrap, EpException.Recourse.INSTALL);
        this.known = new KnownPeers(plan, bootstrap.rank());
        this.paths = new UsablePaths(plan, bootstrap.rank());
        this.maker = new MemoryMaker(device, backends, paths);
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
        Set<Integer> lost = new TreeSet<>();
        for (int r = 0; r < size(); r++) {
            if (bootstrap.state(r) == MemberState.LOST) {
                lost.add(r);
            }
        }
        return lost;
    }

    @Override
    public BufferSize bufferSize(EpShape shape) {
        return Engine.size(shape, plan, rank(), paths.rails());
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
        String name;
        int number;
        synchronized (this) {
            checkOpen();
            number = created++;
            name = "buffer-" + number;
        }
        // Named after the call: a rank that never calls it is named in an error of the others.
        String step = "createBuffer " + number + ": shape";
        Duration setup = EpKeys.SETUP_TIMEOUT.get(config);
        BufferSize size = agreement.attempt(step, () -> setup, () -> bufferSize(shape));
        Optional<GpuWindow> window = agreement.attempt(step, () -> setup, () -> window(shape));
        try {
            checkSameShape(agreement.exchange(step, describe(shape).getBytes(StandardCharsets.UTF_8), setup));
        } catch (RuntimeException | Error e) {
            window.ifPresent(GpuWindow::close);
            throw e;
        }
        EpBuffer buffer = expose(number, name, shape, size, window, setup);
        if (!remember(name, buffer)) {
            buffer.close();
            throw new EpStateException("the group was closed while " + name + " was created; join again");
        }
        return buffer;
    }

    /** Made before ranks agree, so that they hear at once of one that cannot. */
    private Optional<GpuWindow> window(EpShape shape) {
        if (!(device instanceof EngineGpu gpu)) {
            return Optional.empty();
        }
        GpuBuffers.check(shape, size(), gpu);
        GpuBuffers.checkPublishing(gpu, backends.byId().values(), config);
        return windows(shape).map(Supplier::get);
    }

    /** Makes windows, if this rank is a GPU and host threads post for it. */
    private Optional<Supplier<GpuWindow>> windows(EpShape shape) {
        if (!(device instanceof EngineGpu gpu)) {
            return Optional.empty();
        }
        return GpuWindow.layout(shape, plan, paths.rails())
                .filter(layout -> !GpuWindow.isDevicePosted(plan, rank()))
                .map(layout ->
                        () -> new WindowPlacement(gpu, plan, rank(), backends.registering(), config).place(layout));
    }

    private synchronized boolean remember(String name, EpBuffer buffer) {
        if (closed) {
            return false;
        }
        buffers.put(name, buffer);
        return true;
    }

    private String describe(EpShape shape) {
        return shape.toString() + " with " + ShapeSizes.placement(shape, size());
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

    private EpBuffer expose(
            int number, String name, EpShape shape, BufferSize size, Optional<GpuWindow> placed, Duration setup) {
        EpBuffer buffer = agreement.attempt(name, () -> setup, () -> make(number, name, shape, size, placed, setup));
        agreement.confirm(name, setup, buffer::close);
        return buffer;
    }

    private EpBuffer make(
            int number, String name, EpShape shape, BufferSize size, Optional<GpuWindow> placed, Duration setup) {
        List<SymmetricBuffer> exposed = new ArrayList<>();
        Optional<GpuWindow> window = placed.or(() -> allocatedWindow(name, shape, setup, exposed));
        long bytes = size.symmetricBytes() - window.map(w -> w.layout().bytes()).orElse(0L);
        Optional<Movable> movable;
        try {
            movable = movable(number, name, shape, bytes, setup);
        } catch (RuntimeException | Error e) {
            exposed.forEach(SymmetricBuffer::close);
            window.ifPresent(GpuWindow::close);
            throw e;
        }
        MemoryMaker.Made made;
        try {
            made = maker.make(bytes, window, exposed, everybody(name, setup));
        } catch (RuntimeException | Error e) {
            movable.ifPresent(one -> one.memory().close());
            throw e;
        }
        movable.ifPresent(one -> one.memory().first(window, made.free()));
        SymmetricMemory symmetric = made.memory();
        Runnable free = () -> {
            forget(name);
            // Who awaits an operation of a buffer that is closed may still ask whether this rank was left out.
            movable.ifPresent(one -> one.resources().membership().close());
            movable.ifPresentOrElse(one -> one.memory().close(), made.free());
        };
        Recoverer.Way way = new Recoverer.Way(movable.map(Movable::resources), cannotMove);
        return device instanceof EngineGpu gpu
                ? GpuBuffers.create(
                        this,
                        plan,
                        gpu,
                        bootstrap,
                        name,
                        shape,
                        size,
                        paths.rails(),
                        symmetric,
                        () -> movable.map(one -> one.memory().window()).orElse(window),
                        free,
                        way,
                        config)
                : HostBuffers.create(
                        this, plan, bootstrap, name, shape, size, paths.rails(), symmetric, free, way, config);
    }

    private MemoryMaker.Members everybody(String name, Duration setup) {
        return new MemoryMaker.Members(
                IntStream.range(0, size()).boxed().toList(),
                agreement,
                name + "-allocated",
                () -> setup,
                name,
                UnaryOperator.identity());
    }

    /** What a buffer has that moves when it recovers. */
    private record Movable(MovableMemory memory, Recoverer.Resources resources) {}

    private Optional<Movable> movable(int number, String name, EpShape shape, long bytes, Duration setup) {
        if (!cannotMove.isEmpty()) {
            return Optional.empty();
        }
        String control = name + "-control";
        long controlBytes = BufferMembership.bytes(size());
        MovableMemory memory = new MovableMemory(
                name,
                bytes,
                plan,
                maker,
                windows(shape),
                device instanceof HostDevice
                        ? exposed(control, controlBytes, setup)
                        : shared(number, control, controlBytes, setup));
        try {
            return Optional.of(new Movable(memory, recoveryResources(number, name, memory, setup)));
        } catch (RuntimeException | Error e) {
            memory.close();
            throw e;
        }
    }

    private MovableMemory.Control exposed(String name, long bytes, Duration setup) {
        MemoryMaker.Made made = maker.make(bytes, Optional.empty(), List.of(), everybody(name, setup));
        Map<Integer, HostMemory> mapped = new TreeMap<>();
        made.memory().mapped().forEach((r, memory) -> mapped.put(r, HostMemory.of(memory)));
        return new MovableMemory.Control(
                new ControlSlots.Memory(
                        HostMemory.of(made.memory().local()),
                        mapped,
                        made.memory().postedTo()),
                made.free());
    }

    /**
     * Memory of GPUs cannot be read by the host, so their ranks agree through the files of their locks: peers that map this rank's memory
     * map the file, and the others post to it.
     */
    private MovableMemory.Control shared(int number, String step, long bytes, Duration setup) {
        LivenessLocks.Shared shared =
                agreement.attempt(step, () -> setup, () -> locks.share(number, bytes, paths.mapped()));
        Map<String, SymmetricBuffer> posting = new TreeMap<>();
        Runnable free = () -> {
            // NICs let go of memory before it is unmapped.
            posting.values().forEach(SymmetricBuffer::close);
            shared.close();
        };
        try {
            agreement.exchange(step, new byte[0], setup);
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

    private Recoverer.Resources recoveryResources(int number, String name, MovableMemory memory, Duration setup) {
        String step = name + "-membership";
        BufferMembership membership = agreement.attempt(
                step,
                () -> setup,
                () -> new BufferMembership(
                        number,
                        memory.control(),
                        locks,
                        bootstrap,
                        NanoClock.SYSTEM,
                        new BufferMembership.Silence(
                                EpKeys.TIMEOUT.get(config).plus(EpKeys.BOOTSTRAP_HEARTBEAT_TIMEOUT.get(config)),
                                EpKeys.RECOVER_ALONE.get(config)),
                        known));
        agreement.exchange(step, new byte[0], setup);
        return new Recoverer.Resources(membership, memory);
    }

    /** Of a rank whose kernels post: all ranks of the backend allocate together. */
    private Optional<GpuWindow> allocatedWindow(
            String name, EpShape shape, Duration setup, List<SymmetricBuffer> exposed) {
        Optional<AllocatesMemory> allocator =
                backends.allocator(Purpose.DEVICE_POSTED).flatMap(backend -> backend.as(AllocatesMemory.class));
        if (allocator.isEmpty() || !(device instanceof EngineGpu)) {
            return Optional.empty();
        }
        return GpuWindow.layout(shape, plan, paths.rails()).map(layout -> {
            SymmetricBuffer buffer =
                    allocator.get().allocate(name + "-window", layout.bytes(), Purpose.DEVICE_POSTED, setup);
            exposed.add(buffer);
            return GpuWindow.devicePosted(layout, buffer);
        });
    }

    private synchronized void forget(String name) {
        buffers.remove(name);
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
        try {
            meet(tag, timeout);
        } catch (EpException e) {
            // The number is used up: a rank that has called it and one that has not would stay one call apart.
            throw Failures.rejoin(e, known);
        }
    }

    private void meet(String tag, Duration timeout) {
        Set<Integer> lost = lostRanks();
        while (true) {
            try {
                barrier(tag, lost, timeout);
                return;
            } catch (EpPeerLostException e) {
                Set<Integer> now = lostRanks();
                if (now.equals(lost)) {
                    throw e;
                }
                // A rank that had not come died meanwhile: all others see that too, and meet without it.
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
            // It counts its own members; -1 is one of the dead that carried the bootstrap.
            int member = e.failure().peer();
            int peer = member < 0 ? Collections.min(without) : rest.get(member);
            throw Failures.with(e, about(e.failure(), peer), EpException.Recourse.REJOIN);
        } catch (EpTimeoutException e) {
            int member = e.failure().peer();
            throw Failures.with(e, about(e.failure(), member < 0 ? -1 : rest.get(member)), EpException.Recourse.REJOIN);
        }
    }

    private EpFailure about(EpFailure failure, int peer) {
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
        List<Runnable> steps = new ArrayList<>();
        for (int i = open.size() - 1; i >= 0; i--) {
            steps.add(open.get(i)::close);
        }
        steps.addAll(List.of(backends::release, device::close, bootstrap::close));
        closeAll(steps);
    }

    /** Runs all of them, also if one fails: ranks that learn nothing would wait for this one. Throws the first failure. */
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
