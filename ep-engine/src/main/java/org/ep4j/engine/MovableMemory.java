package org.ep4j.engine;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.ep4j.Bootstrap;
import org.ep4j.EpException;
import org.ep4j.engine.gpu.GpuWindow;
import org.ep4j.engine.membership.ControlSlots;
import org.ep4j.engine.sync.FreshMemory;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.EpBackend;
import org.ep4j.spi.RecoverableBackend;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.KnownPeers;

/**
 * The memory of a buffer that moves: the newest, the one before it, and that through which ranks agree on who goes on. What a rank gives
 * back here stays as it is for other processes that have it mapped.
 */
final class MovableMemory implements FreshMemory {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    private final String name;
    private final long bytes;
    private final GroupPlan plan;
    private final MemoryMaker maker;
    private final Optional<Supplier<GpuWindow>> windows;
    private final Control control;
    /** The newest first. */
    private final Deque<Memory> memories = new ArrayDeque<>();

    /**
     * One memory.
     *
     * @param window in it, freed with it
     */
    private record Memory(Optional<GpuWindow> window, Runnable free) {}

    /**
     * Memory through which the ranks of a buffer agree.
     *
     * @param free gives it back
     */
    record Control(ControlSlots.Memory memory, Runnable free) {}

    /**
     * For a buffer whose first memory is not there yet.
     *
     * @param bytes of the buffer's symmetric memory, without the window
     * @param windows makes a window, if the ranks are GPUs of which some are not mapped; the same on all ranks
     * @param control closed with this
     */
    MovableMemory(
            String name,
            long bytes,
            GroupPlan plan,
            MemoryMaker maker,
            Optional<Supplier<GpuWindow>> windows,
            Control control) {
        this.name = name;
        this.bytes = bytes;
        this.plan = plan;
        this.maker = maker;
        this.windows = windows;
        this.control = control;
    }

    /** The memory through which ranks agree. */
    ControlSlots.Memory control() {
        return control.memory();
    }

    void first(Optional<GpuWindow> window, Runnable free) {
        memories.push(new Memory(window, free));
    }

    /** The window of the newest memory, also while {@link #make} prepares it. */
    Optional<GpuWindow> window() {
        return memories.element().window();
    }

    @Override
    public SymmetricMemory make(
            Bootstrap members, List<Integer> ranks, long epoch, Duration longest, Preparation preparation) {
        Deadline end = Deadline.in(longest);
        Agreement agreement = new Agreement(members, ranks, new KnownPeers(plan, ranks.get(members.rank())));
        Optional<GpuWindow> window = windows.map(one -> window(one, agreement, end));
        // Refused where it fails for members that do not use the backend which has failed.
        MemoryMaker.Made made = agreement.attempt(
                "made",
                end::left,
                () -> maker.make(
                        bytes,
                        window,
                        List.of(),
                        new MemoryMaker.Members(
                                ranks,
                                agreement,
                                "allocated",
                                end::left,
                                name + "-epoch-" + epoch,
                                backend -> among(members, ranks, backend))));
        memories.push(new Memory(window, made.free()));
        try {
            Runnable unprepare = agreement.attempt("made", end::left, () -> preparation.prepare(made.memory()));
            memories.push(new Memory(memories.pop().window(), () -> {
                unprepare.run();
                made.free().run();
            }));
            agreement.exchange("made", new byte[0], end.left());
        } catch (RuntimeException | Error e) {
            dropNewest();
            throw e;
        }
        return made.memory();
    }

    /** Makes a window, and agrees with the members on it before a backend begins to allocate memory together. */
    private static GpuWindow window(Supplier<GpuWindow> windows, Agreement agreement, Deadline end) {
        GpuWindow window = agreement.attempt("window", end::left, windows);
        agreement.confirm("window", end.left(), window::close);
        return window;
    }

    /** The backend for those of the members that used it before. */
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

    /** Gives a memory back; if that fails, it stays, and the members go on. */
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
