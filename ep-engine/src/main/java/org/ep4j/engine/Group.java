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
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.ep4j.BufferSize;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.EpGroup;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.EpStateException;
import org.ep4j.EpTimeoutException;
import org.ep4j.config.EpConfig;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.gpu.GpuBuffers;
import org.ep4j.engine.gpu.GpuDevice;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.gpu.GpuWindows;
import org.ep4j.engine.gpu.PostedPaths;
import org.ep4j.engine.gpu.Publishing;
import org.ep4j.engine.gpu.WindowPlacement;
import org.ep4j.engine.host.HostBuffers;
import org.ep4j.engine.life.LifeLocks;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.EpPlan;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.LinkTraffic;
import org.ep4j.spi.MemberState;

/** A group whose backends are open. */
final class Group implements EpGroup {
    private final Bootstrap bootstrap;
    private final EpConfig config;
    private final EpPlan plan;
    private final EpDevice device;
    private final OpenBackends backends;
    private final Agreement agreement;
    private final UsablePaths paths;
    private final LifeLocks proofs;
    private final Map<String, EpBuffer> buffers = new LinkedHashMap<>();
    private int created;
    private int barriers;
    private boolean closed;

    Group(Bootstrap bootstrap, EpConfig config, EpPlan plan, EpDevice device, OpenBackends backends, LifeLocks proofs) {
        this.bootstrap = bootstrap;
        this.config = config;
        this.plan = plan;
        this.device = device;
        this.backends = backends;
        this.proofs = proofs;
        this.agreement = new Agreement(bootstrap);
        this.paths = new UsablePaths(plan, bootstrap.rank());
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
        return EngineRuntime.size(shape, plan, rank(), paths.rails());
    }

    @Override
    public EpBuffer createBuffer(EpShape shape) {
        String name;
        synchronized (this) {
            checkOpen();
            name = "buffer-" + created++;
        }
        Duration setup = config.get(EpKeys.SETUP_TIMEOUT);
        BufferSize size;
        Optional<GpuWindow> window;
        try {
            size = bufferSize(shape);
            window = hostWindow(shape);
        } catch (RuntimeException | Error e) {
            agreement.refuse(name + "-shape", e, setup);
            throw e;
        }
        try {
            checkSameShape(
                    agreement.exchange(name + "-shape", describe(shape).getBytes(StandardCharsets.UTF_8), setup));
            paths.check();
        } catch (RuntimeException | Error e) {
            closeAfter(e, List.of(() -> window.ifPresent(GpuWindow::close)));
            throw e;
        }
        EpBuffer buffer = expose(name, shape, size, window, setup);
        if (!remember(name, buffer)) {
            buffer.close();
            throw new EpStateException("the group was closed while " + name + " was created; join again");
        }
        return buffer;
    }

    /** The window that threads of the host post from, made before ranks agree, so that they hear at once of one that cannot. */
    private Optional<GpuWindow> hostWindow(EpShape shape) {
        if (!(device instanceof GpuDevice gpu)) {
            return Optional.empty();
        }
        GpuBuffers.check(shape, size(), gpu);
        Publishing.check(gpu, backends.byId().values(), config);
        PostedPaths posted = PostedPaths.of(plan);
        return posted.layout(shape, paths.rails())
                .filter(layout -> posted.hasHostWindow(rank()))
                .map(layout ->
                        new WindowPlacement(gpu, plan, rank(), backends.byId().values(), config).place(layout));
    }

    private synchronized boolean remember(String name, EpBuffer buffer) {
        if (closed) {
            return false;
        }
        buffers.put(name, buffer);
        return true;
    }

    private String describe(EpShape shape) {
        return shape.toString() + " with " + shape.placementFor(size());
    }

    private static void checkSameShape(List<byte[]> all) {
        List<String> shapes =
                all.stream().map(b -> new String(b, StandardCharsets.UTF_8)).toList();
        for (int r = 1; r < shapes.size(); r++) {
            if (!shapes.get(r).equals(shapes.get(0))) {
                throw new EpMismatchException("rank 0 creates a buffer of " + shapes.get(0) + ", rank " + r + " of "
                        + shapes.get(r) + "; pass the same shape on all ranks");
            }
        }
    }

    /** Gets this rank's memory, reaches its peers' and makes the buffer. */
    private EpBuffer expose(String name, EpShape shape, BufferSize size, Optional<GpuWindow> placed, Duration setup) {
        MemoryGenerations memory = new MemoryGenerations(
                name, shape, size, device, plan, bootstrap, backends, paths, proofs, () -> hostWindow(shape));
        AtomicReference<Runnable> undo = new AtomicReference<>(memory::free);
        try {
            return memory.make(agreement, placed, setup, (symmetric, windows) -> {
                EpBuffer buffer = create(name, shape, size, symmetric, windows, memory, () -> {
                    forget(name);
                    memory.free();
                });
                undo.set(buffer::close);
                return buffer;
            });
        } catch (RuntimeException | Error e) {
            closeAfter(e, List.of(undo.get()));
            throw e;
        }
    }

    private EpBuffer create(
            String name,
            EpShape shape,
            BufferSize size,
            SymmetricMemory symmetric,
            GpuWindows windows,
            MemoryGenerations memory,
            Runnable free) {
        return device instanceof GpuDevice gpu
                ? GpuBuffers.create(
                        this,
                        gpu,
                        bootstrap,
                        name,
                        shape,
                        size,
                        paths.rails(),
                        symmetric,
                        windows,
                        memory,
                        proofs,
                        free,
                        config)
                : HostBuffers.create(
                        this,
                        bootstrap,
                        name,
                        shape,
                        size,
                        paths.rails(),
                        symmetric,
                        memory,
                        proofs,
                        free,
                        config.get(EpKeys.TIMEOUT));
    }

    private synchronized void forget(String name) {
        buffers.remove(name);
    }

    @Override
    public Map<String, List<LinkTraffic>> traffic() {
        return backends.traffic();
    }

    @Override
    public void barrier(Duration deadline) {
        String tag;
        synchronized (this) {
            checkOpen();
            tag = "barrier-" + barriers++;
        }
        Set<Integer> lost = lostRanks();
        Deadline end = Deadline.in(deadline);
        while (true) {
            try {
                barrier(tag, lost, end.left());
                return;
            } catch (EpPeerLostException e) {
                Set<Integer> known = lostRanks();
                if (known.equals(lost)) {
                    throw e;
                }
                // A rank that had not come died meanwhile: all others see that too, and meet without it.
                lost = known;
            }
        }
    }

    private void barrier(String tag, Set<Integer> without, Duration deadline) {
        if (without.isEmpty()) {
            bootstrap.barrier(tag, deadline);
            return;
        }
        List<Integer> rest = IntStream.range(0, size())
                .filter(r -> !without.contains(r))
                .boxed()
                .toList();
        try (Bootstrap survivors = bootstrap.subgroup(tag + "-without-" + without, rest)) {
            survivors.barrier(tag, deadline);
        } catch (EpPeerLostException e) {
            // It counts its own members; -1 is one of the dead that carried the bootstrap.
            int peer = e.peer() < 0 ? Collections.min(without) : rest.get(e.peer());
            throw new EpPeerLostException(String.valueOf(e.getMessage()), peer, e.phase());
        } catch (EpTimeoutException e) {
            int peer = e.peer() < 0 ? -1 : rest.get(e.peer());
            throw new EpTimeoutException(String.valueOf(e.getMessage()), e.phase(), peer, e.expected(), e.seen());
        }
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
        // The lock goes before the word that this rank has left: who reads the word may rely on the lock.
        steps.addAll(List.of(backends::release, device::close, this::endProof, bootstrap::close));
        closeAll(steps);
    }

    private void endProof() {
        if (device instanceof GpuDevice gpu && gpu.isKept()) {
            proofs.keep();
        } else {
            proofs.close();
        }
    }

    /** All of them, also when one fails: ranks that are told nothing would wait for this one. Throws the first failure. */
    static void closeAll(List<Runnable> steps) {
        List<Throwable> failures = failures(steps);
        if (!failures.isEmpty()) {
            Throwable first = failures.get(0);
            failures.subList(1, failures.size()).forEach(first::addSuppressed);
            if (first instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) first;
        }
    }

    /** All of them after a failure, to which theirs are added. */
    static void closeAfter(Throwable failure, List<Runnable> steps) {
        failures(steps).stream().filter(other -> other != failure).forEach(failure::addSuppressed);
    }

    private static List<Throwable> failures(List<Runnable> steps) {
        List<Throwable> failures = new ArrayList<>();
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException | Error e) {
                failures.add(e);
            }
        }
        return failures;
    }

    @Override
    public String toString() {
        return "rank " + rank() + " of " + size() + " over " + backends.byId().keySet();
    }
}
