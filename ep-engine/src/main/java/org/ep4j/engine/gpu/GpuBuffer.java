package org.ep4j.engine.gpu;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import org.ep4j.BufferSize;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.EngineBuffer;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.DeathProof;
import org.ep4j.engine.sync.FreshMemory;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.engine.sync.Waits;
import org.ep4j.spi.Bootstrap;
import org.jspecify.annotations.Nullable;

/** A buffer whose device is a GPU. */
final class GpuBuffer extends EngineBuffer implements GpuBufferFacts {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** What is under way when a buffer is closed has this long to be sent. */
    private static final Duration LEAVE = Duration.ofSeconds(2);

    private final GpuState state;
    private final BiFunction<SymmetricMemory, GpuWindows, Moved> generations;
    private final FreshGpuMemory fresh;
    private final Recoverer recoverer;
    private final Duration timeout;
    private final Runnable freeSymmetric;

    /** Generations before the newest, the newest of them first. */
    private final Deque<GpuGeneration> older = new ArrayDeque<>();

    private volatile GpuGeneration now;

    /** True when the last operation of high throughput is a combine. */
    private volatile boolean combinedLast;

    /**
     * A buffer in fresh memory.
     *
     * @param memory as the host and the kernels share it
     * @param generation what kernels work with there
     */
    record Moved(SymmetricMemory memory, GpuGeneration generation) {}

    GpuBuffer(
            EpGroup group,
            Bootstrap bootstrap,
            String name,
            BufferSize size,
            GpuGeneration first,
            BiFunction<SymmetricMemory, GpuWindows, Moved> generations,
            FreshGpuMemory fresh,
            DeathProof proofs,
            Duration timeout,
            Runnable freeSymmetric) {
        super(
                group,
                name,
                first.state().shape(),
                first.state().placement(),
                size,
                first.state().waits());
        this.state = first.state();
        this.now = first;
        this.generations = generations;
        this.fresh = fresh;
        this.timeout = timeout;
        this.freeSymmetric = freeSymmetric;
        recoverer = new Recoverer(
                new Numbers(), state.peers(), state.waits(), bootstrap, new SettledProof(proofs), new Moves());
        recoverer.start();
    }

    /** Bytes that results have taken so far. */
    long resultBytes() {
        return state.results().bytes();
    }

    @Override
    public DispatchLayout layout(Tensor topkIds) {
        requireOpen();
        return RoutingCounts.layout(topkIds, state, group().plan().hostIndex());
    }

    @Override
    public DispatchResult dispatch(DispatchRequest request) {
        requireHighThroughput();
        GpuGeneration on = fenced(request.options());
        var dispatch = new HighThroughputDispatch(on.highThroughput(), request);
        combinedLast = false;
        return on.operations().submit(request, request.options(), true, dispatch::run);
    }

    @Override
    public CombineResult combine(CombineRequest request) {
        requireHighThroughput();
        // What another combine staged is staged over; what a dispatch brought stays as it is.
        GpuGeneration before = now;
        GpuGeneration on = combinedLast ? fenced(request.options()) : before;
        if (on.operations() != before.operations()) {
            throw Waits.moved();
        }
        var combine = new HighThroughputCombine(on.highThroughput(), request);
        combinedLast = true;
        return on.operations().submit(request, request.options(), true, combine::run);
    }

    @Override
    public LowLatencyDispatchResult dispatch(LowLatencyDispatchRequest request) {
        requireLowLatency();
        GpuGeneration on = fenced(request.options());
        var dispatch = new LowLatencyDispatch(on.lowLatency(), request);
        try {
            return on.operations().submit(request, request.options(), true, dispatch::run);
        } catch (RuntimeException | Error e) {
            dispatch.abandon();
            throw e;
        }
    }

    @Override
    public LowLatencyCombineResult combine(LowLatencyCombineRequest request) {
        requireLowLatency();
        GpuGeneration on = now;
        var combine = new LowLatencyCombine(on.lowLatency(), request);
        try {
            return on.operations().submit(request, request.options(), true, combine::run);
        } catch (RuntimeException | Error e) {
            combine.abandon();
            throw e;
        }
    }

    @Override
    public Tensor combineInput() {
        requireHighThroughput();
        var layout = state.symmetricLayout();
        return state.symmetricTensor(
                layout.combineArea(),
                DataType.BF16,
                layout.combineInputBytes() / layout.rowBytes(),
                state.shape().hidden());
    }

    @Override
    public Tensor lowLatencyCombineInput() {
        requireLowLatency();
        return state.tensor(
                (int) (now.lowLatency().combines().next() & 1),
                LocalLayout.LowLatency.COMBINE_INPUT,
                DataType.BF16,
                state.localExperts(),
                state.shape().lowLatencyRows(state.ranks()),
                state.shape().hidden());
    }

    @Override
    public Map<Integer, DeviceMemory> symmetricMemory() {
        Map<Integer, DeviceMemory> all = new TreeMap<>();
        for (int r = 0; r < state.ranks(); r++) {
            if (!state.peers().isPostedTo(r)) {
                all.put(r, state.peers().memory(r).memory());
            }
        }
        return all;
    }

    @Override
    public int highThroughputProcessors() {
        return state.highThroughputProcessors();
    }

    @Override
    public int lowLatencyProcessors() {
        return state.lowLatencyProcessors();
    }

    /**
     * The generation for a dispatch, which uses memory again: ranks that were masked meanwhile must have no way into it.
     *
     * @throws EpStateException when that would have to be agreed on while a graph is recorded
     */
    private GpuGeneration fenced(OpOptions options) {
        if (recoverer.isFenceDue()) {
            if (state.device().isCapturing(options.stream())) {
                throw new EpStateException(
                        "ranks " + maskedRanks() + " were masked, which all ranks have to agree on before the"
                                + " next operation, and a graph is recorded: dispatch once before recording it");
            }
            Duration longest = options.timeout().orElse(timeout);
            now.operations().exclusive(longest, () -> {
                if (recoverer.isFenceDue()) {
                    Deadline deadline = Deadline.in(longest);
                    now.operations().settle(deadline);
                    recoverer.fence(deadline);
                    masked();
                    now.operations().restored(state.waits().mask());
                }
            });
        }
        return now;
    }

    @Override
    public void mask(int rank) {
        requireOther(rank);
        now.operations().exclusive(timeout, () -> {
            recoverer.mask(rank);
            masked();
        });
    }

    /** Makes kernels of the newest generation know the masks. */
    private void masked() {
        now.deviceState().mask(state.waits().mask());
        now.operations().fenceDue(recoverer.isFenceDue());
    }

    @Override
    public void clearMask(Duration longest) {
        requireOpen();
        now.operations().exclusive(longest, () -> {
            now.operations().settle(Deadline.in(longest));
            recoverer.clearMask(name(), longest);
            masked();
            now.operations().restored(state.waits().mask());
        });
    }

    @Override
    public Recovery recover(Duration longest) {
        requireOpen();
        AtomicReference<Recovery> result = new AtomicReference<>();
        GpuGeneration before = now;
        before.operations().exclusive(longest, () -> {
            Deadline deadline = Deadline.in(longest);
            before.operations().settle(deadline);
            result.set(recoverer.recover(before.operations().completed(), deadline));
            masked();
            now.operations().recovered(state.waits().mask());
        });
        Recovery recovery = result.get();
        if (recovery == null) {
            throw new EpStateException("the recovery ended without a result");
        }
        return recovery;
    }

    @Override
    protected boolean isClosed() {
        return now.operations().isClosed();
    }

    @Override
    public void close() {
        GpuGeneration last = now;
        Operations.Ending ending = last.operations().close();
        while (last.operations() != now.operations() && ending != Operations.Ending.CLOSED_BEFORE) {
            // A recovery that had the lock has moved meanwhile.
            last = now;
            ending = last.operations().close();
        }
        if (ending != Operations.Ending.CLOSED_BEFORE) {
            leave(last.posting());
            if (ending == Operations.Ending.ENDED) {
                last.owned().forEach(GpuBuffers::release);
                older.forEach(generation -> generation.owned().forEach(GpuBuffers::release));
                GpuBuffers.release(freeSymmetric);
            } else {
                keep(last.posting());
            }
        }
    }

    /** Peers and NICs stay connected, too: they are given back with the memory. */
    private void keep(Posting posting) {
        posting.stop();
        state.device().keep();
        LOG.log(
                System.Logger.Level.WARNING,
                () -> name() + " is closed, but its kernels on "
                        + state.device().id()
                        + " have not ended, as other work is queued before them or they hang; what they may use stays until the"
                        + " process ends: " + size().symmetric() + " bytes of symmetric memory, " + size().local()
                        + " bytes of results, and its pinned memory; wait for the events of operations before the buffer is closed");
    }

    /** What kernels have put into rings, and the host has posted, arrives before the memory goes. */
    private void leave(Posting posting) {
        if (!state.remotes()) {
            return;
        }
        try {
            posting.finish(LEAVE);
            state.waits().until(Deadline.in(LEAVE));
            state.peers().finish(state.waits().mask());
        } catch (EpException e) {
            LOG.log(System.Logger.Level.DEBUG, name() + " leaves with things that are not sent", e);
        }
    }

    /** Moves for {@link Recoverer}, in the thread that recovers or dispatches. */
    private final class Moves implements FreshMemory {
        @Override
        public SymmetricMemory make(long epoch, Set<Integer> lost, Deadline deadline) {
            AtomicReference<Moved> made = new AtomicReference<>();
            Moved moved = fresh.make(
                    epoch,
                    lost,
                    deadline,
                    (memory, windows) -> {
                        Moved mine = generations.apply(memory, windows);
                        made.set(mine);
                        return mine;
                    },
                    () -> discard(made.get()));
            older.push(now);
            state.older().add(state.symmetric());
            now.retire();
            now = moved.generation();
            return moved.memory();
        }

        /** Frees a generation that another rank has not come to: threads that post for kernels must not outlive its memory. */
        private static void discard(@Nullable Moved moved) {
            if (moved != null) {
                moved.generation().retire();
                moved.generation().owned().forEach(GpuBuffers::release);
            }
        }

        /** Stays until the buffer is closed: graphs and kernels of the program may still read rows there. */
        @Override
        public void freeOlder() {}

        @Override
        public void freeNewest() {
            GpuGeneration newest = now;
            newest.retire();
            newest.owned().forEach(GpuBuffers::release);
            now = older.pop();
            state.older().remove(state.older().size() - 1);
            now.resume();
            fresh.freeNewest();
        }
    }

    private final class Numbers implements Recoverer.Numbers {
        @Override
        public long[] begun() {
            return now.deviceState().numbers();
        }

        @Override
        public void moved() {
            // Results are those of a generation, see GpuGeneration#retire.
        }

        @Override
        public void restart(long high, long dispatch, long combine) {
            now.deviceState().numbers(high, dispatch, combine);
            now.lowLatency().reset();
            for (int r = 0; r < state.ranks(); r++) {
                if (!state.waits().mask().has(r)) {
                    state.peers().tell(r, Counter.LL_DISPATCH_CREDIT, dispatch);
                    state.peers().tell(r, Counter.LL_COMBINE_CREDIT, combine);
                }
            }
        }
    }
}
