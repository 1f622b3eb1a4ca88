package org.ep4j.engine;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.BufferSize;
import org.ep4j.DeviceAllocation;
import org.ep4j.DeviceMemory;
import org.ep4j.EpDevice;
import org.ep4j.EpShape;
import org.ep4j.engine.gpu.FreshGpuMemory;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.gpu.GpuWindows;
import org.ep4j.engine.gpu.PostedPaths;
import org.ep4j.engine.memory.HostDevice;
import org.ep4j.engine.memory.TrackedMemory;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.DeathProof;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.spi.MemberState;
import org.ep4j.spi.SymmetricBuffer;

/**
 * The symmetric memory of one buffer on one rank: made among all ranks at first, and again among the survivors where the buffer moves
 * away from ranks that may still reach the memory before. Backends let go of memory before it is freed, since a NIC may still write to
 * what it has registered. Every step that can fail on one rank is agreed on by all that take part.
 */
final class MemoryGenerations implements FreshGpuMemory {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private final String name;
    private final EpShape shape;
    private final BufferSize size;
    private final EpDevice device;
    private final EpPlan plan;
    private final Bootstrap bootstrap;
    private final OpenBackends backends;
    private final UsablePaths paths;
    private final PostedPaths posted;
    private final Supplier<Optional<GpuWindow>> windows;

    private final DeathProof proofs;

    /** Each generation of memory that is still there; the newest first. */
    private final Deque<Generation> generations = new ArrayDeque<>();

    /** Generations that not all ranks came to; others may use this rank's memory there until all of them have come back. */
    private final Deque<Generation> abandoned = new ArrayDeque<>();

    /** Ranks that have generations before the newest mapped, unless they are gone. */
    private final Set<Integer> leftBehind = new TreeSet<>();

    /**
     * Memory of one generation.
     *
     * @param exposed what backends have made of it
     * @param free gives it back
     */
    private record Generation(List<SymmetricBuffer> exposed, Runnable free) {
        /** True when what this rank frees stays as it is for ranks that map it. */
        boolean staysMapped() {
            return exposed.stream().allMatch(SymmetricBuffer::staysMapped);
        }
    }

    /**
     * None yet.
     *
     * @param proofs which ranks are gone
     * @param windows place a window where threads of the host post from one
     */
    MemoryGenerations(
            String name,
            EpShape shape,
            BufferSize size,
            EpDevice device,
            EpPlan plan,
            Bootstrap bootstrap,
            OpenBackends backends,
            UsablePaths paths,
            DeathProof proofs,
            Supplier<Optional<GpuWindow>> windows) {
        this.name = name;
        this.shape = shape;
        this.size = size;
        this.device = device;
        this.plan = plan;
        this.bootstrap = bootstrap;
        this.backends = backends;
        this.paths = paths;
        this.posted = PostedPaths.of(plan);
        this.proofs = proofs;
        this.windows = windows;
    }

    /**
     * Gets this rank's memory and reaches its peers'. Collective over all ranks; what it has made when it fails is freed by {@link #free}.
     *
     * @param placed the window that threads of the host post from, where there is one
     * @param use makes of it what the buffer needs, as a part of the last step; gets the windows, too
     */
    <T> T make(
            Agreement agreement,
            Optional<GpuWindow> placed,
            Duration setup,
            BiFunction<SymmetricMemory, GpuWindows, T> use) {
        return make(name, agreement, Set.of(), placed, () -> setup, use);
    }

    @Override
    public SymmetricMemory make(long epoch, Set<Integer> lost, Deadline deadline) {
        return make(epoch, lost, deadline, (symmetric, window) -> symmetric, () -> {});
    }

    @Override
    public <T> T make(
            long epoch,
            Set<Integer> lost,
            Deadline deadline,
            BiFunction<SymmetricMemory, GpuWindows, T> use,
            Runnable undo) {
        String title = name + "-epoch-" + epoch;
        List<Integer> survivors = IntStream.range(0, plan.ranks())
                .filter(r -> !lost.contains(r))
                .boxed()
                .toList();
        Agreement agreement = new Agreement(bootstrap.subgroup(title, survivors), survivors);
        int before = count();
        try {
            agreement.step("members", deadline.left(), () -> {
                backends.byId().forEach((id, backend) -> {
                    List<Integer> ranks = plan.ranksUsing(id).stream()
                            .filter(r -> !lost.contains(r))
                            .toList();
                    backend.continueWith(bootstrap.subgroup(title + "-" + id, ranks), ranks);
                });
                return survivors;
            });
            Optional<GpuWindow> placed = agreement.step("window-placed", deadline.left(), windows);
            T made = make(title, agreement, lost, placed, deadline::left, use);
            synchronized (this) {
                leftBehind.addAll(lost);
            }
            return made;
        } catch (RuntimeException | Error e) {
            if (count() > before) {
                Group.closeAfter(e, List.of(undo, this::freeNewest));
            }
            throw e;
        }
    }

    private synchronized int count() {
        return generations.size();
    }

    private synchronized void add(Generation generation) {
        generations.push(generation);
    }

    private synchronized void replaceNewest(Generation generation) {
        generations.pop();
        generations.push(generation);
    }

    @Override
    public void freeOlder() {
        List<Generation> older;
        Set<Integer> mapping;
        synchronized (this) {
            Generation newest = generations.pop();
            older = new ArrayList<>(generations);
            older.addAll(abandoned);
            generations.clear();
            abandoned.clear();
            generations.push(newest);
            mapping = Set.copyOf(leftBehind);
        }
        Group.closeAll(older.stream().<Runnable>map(g -> () -> free(g, mapping)).toList());
    }

    /**
     * Frees memory of a generation. Where a rank may still store into it, memory that goes to somebody else once it is freed is kept.
     *
     * @param mapping ranks that have it mapped, unless they are gone
     */
    private void free(Generation generation, Set<Integer> mapping) {
        List<Integer> living =
                mapping.stream().filter(r -> !proofs.isGone(r)).sorted().toList();
        if (generation.staysMapped() || living.isEmpty()) {
            generation.free().run();
        } else {
            generation.exposed().forEach(SymmetricBuffer::unmapPeers);
            LOG.log(
                    System.Logger.Level.WARNING,
                    "{0} bytes of {1} stay until the process ends, since ranks {2}, which were lost, may still write them; end"
                            + " their processes before the buffer is closed",
                    size.symmetric(),
                    name,
                    living);
        }
    }

    @Override
    public void freeNewest() {
        Generation newest;
        synchronized (this) {
            newest = generations.pop();
            if (!newest.staysMapped()) {
                abandoned.push(newest);
                return;
            }
        }
        newest.free().run();
    }

    /** Frees all of it. A second call does nothing. */
    void free() {
        List<Runnable> steps = new ArrayList<>();
        synchronized (this) {
            // Ranks that were lost, and that nobody has recovered from, may be in the newest memory; not those that
            // expelled this one.
            boolean out = bootstrap.state(bootstrap.rank()) == MemberState.LOST;
            Set<Integer> unrecovered = IntStream.range(0, out ? 0 : bootstrap.size())
                    .filter(r -> bootstrap.state(r) == MemberState.LOST && !leftBehind.contains(r))
                    .boxed()
                    .collect(Collectors.toSet());
            Set<Integer> lost = new TreeSet<>(leftBehind);
            lost.addAll(unrecovered);
            for (Generation generation : generations) {
                Set<Integer> mapping = steps.isEmpty() ? unrecovered : lost;
                steps.add(() -> free(generation, mapping));
            }
            abandoned.forEach(generation -> steps.add(() -> free(generation, lost)));
            generations.clear();
            abandoned.clear();
        }
        Group.closeAll(steps);
    }

    private <T> T make(
            String title,
            Agreement agreement,
            Set<Integer> lost,
            Optional<GpuWindow> placed,
            Supplier<Duration> left,
            BiFunction<SymmetricMemory, GpuWindows, T> use) {
        List<SymmetricBuffer> exposed = new ArrayList<>();
        List<Runnable> freeLocal = new ArrayList<>();
        placed.ifPresent(window -> freeLocal.add(window::close));
        add(new Generation(exposed, () -> letGo(exposed, freeLocal)));
        GpuWindows windows = agreement.step(
                title + "-window",
                left.get(),
                () -> new GpuWindows(placed, allocatedWindow(title, left.get(), exposed)));
        long bytes = size.symmetric() - windowBytes(windows);
        Map<String, SymmetricBuffer> byBackend = new TreeMap<>();
        DeviceMemory local = agreement.step(
                title + "-memory", left.get(), () -> allocate(title, bytes, left.get(), exposed, byBackend, freeLocal));
        ExposedMemory registered = windows.host().map(GpuWindow::exposed).orElseGet(() -> ExposedMemory.of(local));
        register(title, agreement, left, registered, exposed, byBackend);
        return agreement.step(title, left.get(), () -> {
            SymmetricMemory reached =
                    paths.reach(local, byBackend, windows.device().flatMap(GpuWindow::posted), lost);
            TrackedMemory tracked = track(title, local, () -> letGo(exposed, freeLocal));
            replaceNewest(new Generation(exposed, tracked::close));
            return use.apply(reached.withLocal(tracked.memory()), windows);
        });
    }

    private static long windowBytes(GpuWindows windows) {
        return windows.host().map(w -> w.layout().bytes()).orElse(0L)
                + windows.device().map(w -> w.layout().bytes()).orElse(0L);
    }

    /** The window of a rank whose kernels post: all ranks of the backend allocate together. */
    private Optional<GpuWindow> allocatedWindow(String title, Duration setup, List<SymmetricBuffer> exposed) {
        Optional<EpBackend> allocator = backends.byId().values().stream()
                .filter(EpBackend::allocatesWindow)
                .findFirst();
        if (allocator.isEmpty() || !(device instanceof GpuDevice)) {
            return Optional.empty();
        }
        return posted.layout(shape, paths.rails()).map(layout -> {
            SymmetricBuffer buffer = allocator.get().expose(title + "-window", layout.bytes(), Optional.empty(), setup);
            exposed.add(buffer);
            return GpuWindow.devicePosted(layout, buffer);
        });
    }

    /**
     * Gets this rank's symmetric memory, from the backend that allocates or from the device.
     *
     * @param freeLocal gets what frees the device's
     */
    private DeviceMemory allocate(
            String title,
            long bytes,
            Duration setup,
            List<SymmetricBuffer> exposed,
            Map<String, SymmetricBuffer> byBackend,
            List<Runnable> freeLocal) {
        Optional<EpBackend> allocator =
                backends.byId().values().stream().filter(EpBackend::allocates).findFirst();
        if (allocator.isPresent()) {
            SymmetricBuffer own = allocator.get().expose(title, bytes, Optional.empty(), setup);
            exposed.add(own);
            byBackend.put(allocator.get().id(), own);
            return own.local();
        }
        DeviceAllocation allocation = device.allocate(bytes);
        freeLocal.add(0, allocation::close);
        return allocation.memory();
    }

    /** Views that a program holds keep the memory, and the backends that it is of. */
    private TrackedMemory track(String title, DeviceMemory local, Runnable unmap) {
        Runnable free = () -> Group.closeAll(List.of(unmap, backends::release));
        TrackedMemory tracked = device instanceof HostDevice host
                ? host.track(title, local, free)
                : new TrackedMemory(title, local, free);
        backends.retain();
        return tracked;
    }

    private static void letGo(List<SymmetricBuffer> exposed, List<Runnable> freeLocal) {
        List<Runnable> steps = new ArrayList<>();
        exposed.forEach(buffer -> steps.add(buffer::close));
        steps.addAll(freeLocal);
        Group.closeAll(steps);
    }

    /** One backend after the other, on all ranks: where one cannot, no rank waits in the next one for it. */
    private void register(
            String title,
            Agreement agreement,
            Supplier<Duration> left,
            ExposedMemory memory,
            List<SymmetricBuffer> exposed,
            Map<String, SymmetricBuffer> byBackend) {
        for (String id : plan.backends()) {
            agreement.step(title + "-" + id, left.get(), () -> {
                EpBackend backend = backends.byId().get(id);
                if (backend != null && !byBackend.containsKey(id) && !backend.allocatesWindow()) {
                    SymmetricBuffer registered =
                            backend.expose(title, memory.memory().byteSize(), Optional.of(memory), left.get());
                    exposed.add(registered);
                    byBackend.put(id, registered);
                }
                return byBackend;
            });
        }
    }
}
