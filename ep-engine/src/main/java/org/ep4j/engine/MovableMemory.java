package org.ep4j.engine;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.membership.ControlSlots;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.KnownPeers;

/**
 * The memory of a buffer that moves: the newest, the one before it, and the memory of the agreement on memberships. Memory that a rank
 * frees here stays allocated for other processes that have it mapped.
 */
final class MovableMemory implements Recoverer.FreshMemory {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private final String name;
    private final long bytes;
    private final GroupPlan plan;
    private final SymmetricMemoryFactory factory;
    private final Optional<Supplier<GpuWindow>> windows;
    private final Control control;
    /** The newest first. */
    private final Deque<Memory> memories = new ArrayDeque<>();

    /** One memory, with its window and what frees both. */
    private record Memory(Optional<GpuWindow> window, Runnable free) {}

    /** Memory through which the ranks of a buffer agree, with what frees it. */
    record Control(ControlSlots.Memory memory, Runnable free) {}

    /**
     * Creates it for a buffer whose first memory is not allocated yet.
     *
     * @param bytes of the buffer's symmetric memory, without the window
     * @param windows creates a window, if the ranks are GPUs of which some are not mapped; the same on all ranks
     * @param control freed with this
     */
    MovableMemory(
            String name,
            long bytes,
            GroupPlan plan,
            SymmetricMemoryFactory factory,
            Optional<Supplier<GpuWindow>> windows,
            Control control) {
        this.name = name;
        this.bytes = bytes;
        this.plan = plan;
        this.factory = factory;
        this.windows = windows;
        this.control = control;
    }

    ControlSlots.Memory control() {
        return control.memory();
    }

    void first(Optional<GpuWindow> window, Runnable free) {
        memories.push(new Memory(window, free));
    }

    /** The window of the newest memory, also while {@link #allocate} prepares it. */
    Optional<GpuWindow> window() {
        return memories.element().window();
    }

    @Override
    public SymmetricMemory allocate(
            Bootstrap members,
            List<Integer> ranks,
            long epoch,
            Duration longest,
            Function<SymmetricMemory, Runnable> preparation) {
        Deadline end = Deadline.in(longest);
        CollectiveSteps steps = new CollectiveSteps(members, ranks, new KnownPeers(plan, ranks.get(members.rank())));
        Optional<GpuWindow> window = windows.map(one -> window(one, steps, end));
        // Members that do not use the backend that has failed learn the failure from this step.
        SymmetricMemoryFactory.Created made = steps.attempt(
                "made",
                end::left,
                () -> factory.create(
                        bytes,
                        window,
                        List.of(),
                        new SymmetricMemoryFactory.Members(
                                ranks,
                                steps,
                                "allocated",
                                end::left,
                                name + "-epoch-" + epoch,
                                backend -> among(members, ranks, backend))));
        memories.push(new Memory(window, made.free()));
        try {
            Runnable unprepare = steps.attempt("made", end::left, () -> preparation.apply(made.memory()));
            memories.push(new Memory(memories.pop().window(), () -> {
                unprepare.run();
                made.free().run();
            }));
            steps.exchange("made", new byte[0], end.left());
        } catch (RuntimeException | Error e) {
            dropNewest();
            throw e;
        }
        return made.memory();
    }

    /** Creates a window on all members before a backend begins a collective allocation. */
    private static GpuWindow window(Supplier<GpuWindow> windows, CollectiveSteps steps, Deadline end) {
        GpuWindow window = steps.attempt("window", end::left, windows);
        steps.confirm("window", end.left(), window::close);
        return window;
    }

    /** Returns the backend for those of the members that used it before. */
    private EpBackend among(Bootstrap members, List<Integer> ranks, EpBackend backend) {
        RecoverableBackend recoverable = backend.as(RecoverableBackend.class)
                .orElseThrow(() -> new EpException(
                        backend.id() + " cannot allocate new memory, but a recovery of this buffer needs new memory"));
        List<Integer> users = plan.ranksUsing(backend.id());
        List<Integer> left = ranks.stream().filter(users::contains).toList();
        Bootstrap among = left.equals(ranks)
                ? members
                : members.subgroup(
                        "backend-" + backend.id(),
                        left.stream().map(ranks::indexOf).toList());
        return recoverable.among(among, left);
    }

    @Override
    public void dropNewest() {
        release(memories.pop());
    }

    /** Frees a memory; if that fails, it stays allocated, and the members continue. */
    private void release(Memory memory) {
        try {
            memory.free().run();
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "memory of " + name + " could not be released", e);
        }
    }

    @Override
    public void freeOlder() {
        while (memories.size() > 1) {
            release(memories.removeLast());
        }
    }

    void close() {
        List<Runnable> steps = new ArrayList<>();
        memories.forEach(memory -> steps.add(memory.free()));
        memories.clear();
        steps.add(control.free());
        Group.closeAll(steps);
    }
}
