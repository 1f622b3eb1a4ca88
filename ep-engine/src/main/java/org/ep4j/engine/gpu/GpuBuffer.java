package org.ep4j.engine.gpu;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
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
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.DeviceBuffer;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.buffer.RequestTensors;
import org.ep4j.engine.host.HostBuffers;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.GroupPlan;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

final class GpuBuffer implements DeviceBuffer, GpuBufferFacts {
    private static final System.Logger LOG = System.getLogger("org.ep4j");

    /** Time for writes in flight when a buffer is closed. */
    private static final Duration LEAVE = Duration.ofSeconds(2);

    /** Time for commands in rings before a recovery. */
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
    /** Numbers of the operations before the last restart of all ranks. Used inside {@link Operations#exclusive}. */
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
            Recoverer.Recoverability recoverability,
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
        recoverer = new Recoverer(new Numbers(), state.peers(), state.waits(), bootstrap, recoverability);
    }

    /** Sets the number before the first operation, see {@link org.ep4j.config.EpKeys#FIRST_NUMBER}. */
    void numberFrom(long first) {
        recoverer.numberFrom(first);
    }

    @Override
    public GpuState state() {
        return state;
    }

    @Override
    public BufferSize size() {
        return size.withSms(
                state.multiprocessors().highThroughput(),
                state.multiprocessors().lowLatency());
    }

    @Override
    public DispatchLayout dispatchLayout(Tensor topkIds) {
        RequestChecks checks = state.checks();
        int tokens = checks.layoutTokens(topkIds);
        checks.ids(topkIds, tokens);
        // Counted on the host from a copy of the ids, since the result is for the host.
        ByteBuffer copy = ByteBuffer.allocateDirect((int) topkIds.byteSize()).order(ByteOrder.nativeOrder());
        state.device().download(topkIds.memory(), copy);
        Tensor onHost = Tensor.of(
                DeviceMemory.of(HostMemory.address(copy), copy.capacity(), Device.HOST),
                topkIds.type(),
                tokens,
                state.shape().topK());
        try {
            return HostBuffers.dispatchLayout(onHost, tokens, state, plan);
        } finally {
            Reference.reachabilityFence(copy);
        }
    }

    @Override
    public DispatchResult dispatch(DispatchRequest request, OpOptions options) {
        var dispatch = new HighThroughputDispatch(highThroughput, request);
        RequestTensors.of(request).check(state.symmetric());
        return operations.submit(request, options, dispatch::run);
    }

    @Override
    public CombineResult combine(CombineRequest request, OpOptions options) {
        var combine = new HighThroughputCombine(highThroughput, request);
        RequestTensors.of(request).checkCombine(state.symmetric(), state.symmetricLayout());
        return operations.submit(request, options, combine::run);
    }

    @Override
    public LowLatencyDispatchResult lowLatencyDispatch(LowLatencyDispatchRequest request, OpOptions options) {
        var dispatch = new LowLatencyDispatch(lowLatency, request, options);
        RequestTensors.of(request).check(state.symmetric());
        try {
            return operations.submit(request, options, dispatch::run);
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
            return operations.submit(request, options, combine::run);
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

    @Override
    public long localBytesTaken() {
        return state.results().takenBytes();
    }

    @Override
    public boolean isIdle() {
        return operations.isIdle();
    }

    DeviceState deviceState() {
        return deviceState;
    }

    @Override
    public long lowLatencyCombines() {
        return lowLatency.combines.number();
    }

    @Override
    public void mask(int rank) {
        operations.exclusive(timeout, () -> {
            drainRings();
            recoverer.mask(rank, allSucceeded(), operations.completed(), Deadline.in(timeout));
            deviceState.mask(state.waits().mask());
            return true;
        });
    }

    /** Returns whether other ranks have done their part of all operations that this rank has begun. */
    private boolean allSucceeded() {
        long[] begun = deviceState.numbers();
        // A low-latency dispatch is followed by a combine, in which other ranks write here.
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
            return true;
        });
    }

    @Override
    public Recovery recover(Duration longest) {
        return operations.exclusive(longest, () -> {
            Deadline deadline = Deadline.in(longest);
            drainRings();
            Recovery recovery = recoverer.recover(operations.completed(), deadline);
            deviceState.mask(state.waits().mask());
            operations.recovered();
            return recovery;
        });
    }

    /**
     * Waits a short time until commands in rings are posted: other ranks may wait for them. A thread that posts to a rank that is stuck may
     * delay them.
     */
    private void drainRings() {
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

    /** Closes the buffer. If operations are still queued, memory stays until a later call, such as that of the group's close, finds them done. */
    @Override
    public void close() {
        if (freed.get()) {
            return;
        }
        try {
            operations.close();
        } catch (EpException e) {
            // Callers get it from their events, too.
            LOG.log(
                    System.Logger.Level.WARNING,
                    () -> name + " was closed although its operations had not ended: " + e.getMessage());
        }
        if (!operations.isIdle()) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "{0} keeps its memory until it is closed again: its operations are queued behind work that has not"
                            + " ended, and their kernels still need this memory",
                    name);
            // Proxy threads continue in pinned memory, also when the device is closed.
            state.device().keepMemory();
            return;
        }
        if (freed.compareAndSet(false, true)) {
            leave();
            free.run();
        }
    }

    /** Lets commands in rings, and what the host has posted, arrive before the memory is freed. */
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

        /** Low-latency results, and others that are not rows, are in this rank's own memory, which stays. */
        @Override
        public boolean freed() {
            highThroughput.dispatches.freed();
            return memory.haveRetiredEnded();
        }

        @Override
        public void restart(long high, long dispatch, long combine) {
            deviceState.numbers(high, dispatch, combine);
            restarted = new long[] {high, dispatch, combine};
            operations.restarted();
            lowLatency.reset();
            for (int r = 0; r < state.ranks(); r++) {
                // A masked rank may have no part in the memory.
                if (!state.waits().mask().has(r)) {
                    state.peers().tryAdvance(r, Counter.LL_DISPATCH_CREDIT, dispatch);
                    state.peers().tryAdvance(r, Counter.LL_COMBINE_CREDIT, combine);
                }
            }
        }
    }
}
