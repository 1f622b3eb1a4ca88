package org.ep4j.engine.gpu;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.ep4j.Bootstrap;
import org.ep4j.BufferSize;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpException;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.DeviceBuffer;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.buffer.RequestTensors;
import org.ep4j.engine.host.RoutingLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.GroupPlan;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

final class GpuBuffer implements DeviceBuffer, GpuBufferFacts {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** What is under way when a buffer is closed has this long to be sent. */
    private static final Duration LEAVE = Duration.ofSeconds(2);

    /** What operations before a recovery have put into rings has this long to be posted. */
    private static final Duration LAST_POSTS = Duration.ofMillis(200);

    private final GroupPlan plan;
    private final String name;
    private final BufferSize size;
    private final GpuState state;
    private final DeviceState deviceState;
    private final Operations operations;
    private final HighThroughput highThroughput;
    private final LowLatency lowLatency;
    private final Recoverer recoverer;

    private final KernelMemory memory;
    private final Duration timeout;
    private final Runnable free;
    private final AtomicBoolean freed = new AtomicBoolean();
    /** Numbers of operations after which all ranks began anew. Used inside {@link Operations#exclusive}. */
    private long[] restarted = new long[3];

    GpuBuffer(
            Bootstrap bootstrap,
            GroupPlan plan,
            String name,
            BufferSize size,
            GpuState state,
            DeviceState deviceState,
            Operations operations,
            HighThroughput highThroughput,
            LowLatency lowLatency,
            KernelMemory memory,
            Recoverer.Way way,
            Duration timeout,
            Runnable free) {
        this.plan = plan;
        this.name = name;
        this.size = size;
        this.state = state;
        this.deviceState = deviceState;
        this.operations = operations;
        this.highThroughput = highThroughput;
        this.lowLatency = lowLatency;
        this.memory = memory;
        this.timeout = timeout;
        this.free = free;
        recoverer = new Recoverer(new Numbers(), state.peers(), state.waits(), bootstrap, way);
    }

    /** Numbers the first operations. See {@link org.ep4j.config.EpKeys#FIRST_NUMBER}. */
    void numberFrom(long first) {
        recoverer.numberFrom(first);
    }

    @Override
    public GpuState state() {
        return state;
    }

    @Override
    public BufferSize size() {
        return size.withSms(state.highThroughputProcessors(), state.lowLatencyProcessors());
    }

    @Override
    public DispatchLayout dispatchLayout(Tensor topkIds) {
        RequestChecks checks = state.checks();
        int tokens = checks.layoutTokens(topkIds);
        checks.ids(topkIds, tokens);
        // Counted on the host from a copy of the ids: the result is the host's anyway.
        ByteBuffer copy = ByteBuffer.allocateDirect((int) topkIds.byteSize()).order(ByteOrder.nativeOrder());
        state.device().download(topkIds.memory(), copy);
        Tensor onHost = Tensor.of(
                DeviceMemory.of(HostMemory.address(copy), copy.capacity(), Device.HOST),
                topkIds.type(),
                tokens,
                state.shape().topK());
        try {
            return RoutingLayout.of(
                    onHost,
                    tokens,
                    state.shape(),
                    state.placement(),
                    state.waits().mask(),
                    plan);
        } finally {
            Reference.reachabilityFence(copy);
        }
    }

    @Override
    public DispatchResult dispatch(DispatchRequest request, OpOptions options) {
        var dispatch = new HighThroughputDispatch(highThroughput, request);
        RequestTensors.of(request).check(state.symmetric());
        return operations.submit(request, options, true, dispatch::run);
    }

    @Override
    public CombineResult combine(CombineRequest request, OpOptions options) {
        var combine = new HighThroughputCombine(highThroughput, request);
        RequestTensors.of(request).checkCombine(state.symmetric(), state.symmetricLayout());
        return operations.submit(request, options, true, combine::run);
    }

    @Override
    public LowLatencyDispatchResult lowLatencyDispatch(LowLatencyDispatchRequest request, OpOptions options) {
        var dispatch = new LowLatencyDispatch(lowLatency, request, options);
        RequestTensors.of(request).check(state.symmetric());
        try {
            return operations.submit(request, options, true, dispatch::run);
        } catch (RuntimeException | Error e) {
            dispatch.abandon();
            throw e;
        }
    }

    @Override
    public CombineResult lowLatencyCombine(LowLatencyCombineRequest request, OpOptions options) {
        var combine = new LowLatencyCombine(lowLatency, request, options);
        RequestTensors.of(request).check(state.symmetric());
        try {
            return operations.submit(request, options, true, combine::run);
        } catch (RuntimeException | Error e) {
            combine.abandon();
            throw e;
        }
    }

    @Override
    public Map<Integer, DeviceMemory> symmetricMemory() {
        Map<Integer, DeviceMemory> all = new TreeMap<>();
        for (int r = 0; r < state.ranks(); r++) {
            if (!state.peers().isPostedTo(r)) {
                DeviceMemory memory = state.peers().memory(r).memory();
                // A rank that the buffer has moved away from has none.
                if (memory.byteSize() > 0) {
                    all.put(r, memory);
                }
            }
        }
        return all;
    }

    /** Ranks that no operation which has begun may wait for: they have left, or recover. */
    List<Integer> absent() {
        return state.waits().absent();
    }

    /** State that its kernels keep in device memory. */
    DeviceState deviceState() {
        return deviceState;
    }

    @Override
    public long lowLatencyCombines() {
        return lowLatency.combines().number();
    }

    @Override
    public void mask(int rank) {
        operations.exclusive(timeout, () -> {
            postWhatIsLeft();
            recoverer.mask(rank, allSucceeded(), operations.completed(), Deadline.in(timeout));
            deviceState.mask(state.waits().mask());
        });
    }

    /** True if other ranks have done their part of all operations that this rank has begun. */
    private boolean allSucceeded() {
        long[] begun = deviceState.numbers();
        // A dispatch of low latency is an order for a combine, in which other ranks write here.
        boolean combined = begun[1] - restarted[1] == begun[2] - restarted[2];
        return combined && operations.allSucceeded() && lowLatency.isAllReceived();
    }

    @Override
    public void clearMasks(Duration longest) {
        operations.exclusive(longest, () -> {
            operations.mendRings();
            state.waits().until(Deadline.in(longest));
            recoverer.clearMasks(name, longest);
            deviceState.mask(state.waits().mask());
        });
    }

    @Override
    public Recovery recover(Duration longest) {
        AtomicReference<Recovery> result = new AtomicReference<>();
        operations.exclusive(longest, () -> {
            Deadline deadline = Deadline.in(longest);
            postWhatIsLeft();
            result.set(recoverer.recover(operations.completed(), deadline));
            deviceState.mask(state.waits().mask());
            operations.recovered();
        });
        Recovery recovery = result.get();
        if (recovery == null) {
            throw new EpStateException("the recovery ended without a result");
        }
        return recovery;
    }

    /**
     * Waits for a moment until what operations have put into rings is posted: other ranks may wait for it. A thread that posts to a rank
     * that is stuck may hold it up.
     */
    private void postWhatIsLeft() {
        memory.posting().wake();
        if (!memory.posting().finish(LAST_POSTS)) {
            LOG.log(
                    System.Logger.Level.DEBUG,
                    "{0} recovers, although proxy threads have not yet posted all its commands",
                    name);
        }
    }

    @Override
    public boolean isClosed() {
        return operations.isClosed();
    }

    /** Closes the buffer. Where operations are still queued, memory stays until a later call, as closing the group makes, finds them done. */
    @Override
    public void close() {
        if (freed.get()) {
            return;
        }
        try {
            operations.close();
        } catch (EpException e) {
            // Events tell it to their holders, too.
            LOG.log(
                    System.Logger.Level.WARNING,
                    () -> name + " was closed although its operations had not ended: " + e.getMessage());
        }
        if (!operations.isIdle()) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "{0} keeps its memory until it is closed again: its operations are queued behind work that has not ended,"
                            + " and their kernels still need this memory",
                    name);
            // Threads that post for the kernels go on in pinned memory, also when the device is closed.
            state.device().keep();
            return;
        }
        if (freed.compareAndSet(false, true)) {
            leave();
            free.run();
        }
    }

    /** What kernels have put into rings, and the host has posted, arrives before the memory goes. */
    private void leave() {
        if (memory.posting() == Posting.NONE) {
            return;
        }
        try {
            memory.posting().finish(LEAVE);
            state.waits().until(Deadline.in(LEAVE));
            state.peers().finish(state.waits().mask());
        } catch (EpException e) {
            LOG.log(System.Logger.Level.DEBUG, name + " is closed before all its messages are sent", e);
        }
    }

    private final class Numbers implements Recoverer.Numbers {
        @Override
        public long[] begun() {
            return deviceState.numbers();
        }

        @Override
        public Runnable prepare(SymmetricMemory fresh) {
            return memory.prepare(fresh);
        }

        @Override
        public void moved(SymmetricMemory fresh, long high) {
            highThroughput.moved();
            operations.moved(state.waits().mask(), state.ranks());
        }

        /** Results of low latency, and of others that are not rows, are in this rank's own memory, which stays. */
        @Override
        public boolean freed() {
            highThroughput.freed();
            return memory.haveRetiredEnded();
        }

        @Override
        public void restart(long high, long dispatch, long combine) {
            deviceState.numbers(high, dispatch, combine);
            restarted = new long[] {high, dispatch, combine};
            operations.restarted();
            lowLatency.reset();
            for (int r = 0; r < state.ranks(); r++) {
                // One that is masked may have no part in the memory.
                if (!state.waits().mask().has(r)) {
                    state.peers().tell(r, Counter.LL_DISPATCH_CREDIT, dispatch);
                    state.peers().tell(r, Counter.LL_COMBINE_CREDIT, combine);
                }
            }
        }
    }
}
