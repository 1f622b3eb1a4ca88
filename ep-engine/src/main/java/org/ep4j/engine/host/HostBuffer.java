package org.ep4j.engine.host;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.ep4j.Bootstrap;
import org.ep4j.BufferSize;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpEvent;
import org.ep4j.EpGroup;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyCombineResult;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.BufferState;
import org.ep4j.engine.buffer.EngineBuffer;
import org.ep4j.engine.buffer.RequestTensors;
import org.ep4j.engine.collective.Deadline;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.SymmetricMemory;

final class HostBuffer extends EngineBuffer {
    private final HostState state;
    private final Duration timeout;
    private final Runnable free;
    private final HighThroughput highThroughput;
    private final LowLatency lowLatency;
    private final Recoverer recoverer;

    private final Operations operations;
    private final RowSum sum;
    /** Operations completed since {@link #recover} last returned. */
    private long completed;

    /** Number of the last high-throughput operation that succeeded, or after which the buffer recovered. */
    private long succeeded;

    /**
     * Over memory that is mapped already.
     *
     * @param timeout longest wait of an operation that does not say otherwise
     * @param free gives the memory back; called once
     * @param way of a buffer that moves when it recovers
     */
    HostBuffer(
            EpGroup group,
            Bootstrap bootstrap,
            String name,
            BufferSize size,
            HostState state,
            Duration timeout,
            Runnable free,
            Recoverer.Way way) {
        super(group, name, state.shape(), state.placement(), size, state.waits());
        this.state = state;
        this.timeout = timeout;
        this.free = free;
        operations = new Operations(name, timeout, state.waits());
        highThroughput = new HighThroughput(state);
        lowLatency = new LowLatency(state, operations);
        recoverer = new Recoverer(new Numbers(), state.peers(), state.waits(), bootstrap, way);
        sum = new RowSum(state.shape().hidden(), state.rowLoops());
    }

    /** Numbers the first operations. See {@link org.ep4j.config.EpKeys#FIRST_NUMBER}. */
    void numberFrom(long first) {
        recoverer.numberFrom(first);
    }

    @Override
    public DispatchLayout layout(Tensor topkIds) {
        requireOpen();
        int tokens = state.checks().layoutTokens(topkIds);
        return RoutingLayout.of(
                topkIds, tokens, state.shape(), state.placement(), state.waits().mask(), group().plan());
    }

    @Override
    public DispatchResult dispatch(DispatchRequest request) {
        requireHighThroughput();
        HighThroughputDispatch dispatch = new HighThroughputDispatch(highThroughput, request);
        RequestTensors tensors = RequestTensors.of(request).check(state.symmetric());
        return dispatch.result(run(dispatch, tensors, request.options()));
    }

    @Override
    public CombineResult combine(CombineRequest request) {
        requireHighThroughput();
        HighThroughputCombine combine = new HighThroughputCombine(highThroughput, request, sum);
        RequestTensors tensors = RequestTensors.of(request).checkCombine(state.symmetric(), state.symmetricLayout());
        return combine.result(run(combine, tensors, request.options()));
    }

    @Override
    public LowLatencyDispatchResult dispatch(LowLatencyDispatchRequest request) {
        requireLowLatency();
        LowLatencyDispatch dispatch = new LowLatencyDispatch(lowLatency, request);
        RequestTensors tensors = RequestTensors.of(request).check(state.symmetric());
        return dispatch.result(run(dispatch, tensors, request.options()));
    }

    @Override
    public LowLatencyCombineResult combine(LowLatencyCombineRequest request) {
        requireLowLatency();
        LowLatencyCombine combine = new LowLatencyCombine(lowLatency, request, sum);
        RequestTensors tensors = RequestTensors.of(request).check(state.symmetric());
        return combine.result(run(combine, tensors, request.options()));
    }

    /** Runs or queues an operation; gives its end. */
    private EpEvent run(Operation operation, RequestTensors tensors, OpOptions options) {
        EpEvent event = operations.submit(options, deadline -> {
            state.waits().requireReady();
            long before = highThroughput.number();
            tensors.retain();
            try {
                operation.run(deadline);
            } finally {
                tensors.release();
            }
            // A rank that the others have left out must not go on with what it has read.
            state.waits().requireMember("the end of an operation");
            if (highThroughput.number() != before) {
                succeeded = highThroughput.number();
            }
            completed++;
        });
        if (options.async()) {
            operation.endsWith(event, options.timeout().orElse(timeout).multipliedBy(2));
        }
        return event;
    }

    @Override
    public Tensor combineInput() {
        requireHighThroughput();
        BufferLayout layout = state.symmetricLayout();
        return BufferState.tensor(
                state.symmetric(),
                layout.combineArea(),
                DataType.BF16,
                layout.combineInputBytes() / layout.rowBytes(),
                state.shape().hidden());
    }

    @Override
    public Tensor lowLatencyCombineInput() {
        requireLowLatency();
        return state.tensor(
                lowLatency.combines().number() + 1,
                LocalLayout.LowLatency.COMBINE_INPUT,
                DataType.BF16,
                state.localExperts(),
                state.shape().lowLatencyRows(state.ranks()),
                state.shape().hidden());
    }

    @Override
    public void mask(int rank) {
        requireOther(rank);
        operations.submit(OpOptions.DEFAULT, deadline -> {
            recoverer.mask(rank, allSucceeded(), completed, deadline);
        });
    }

    @Override
    public void clearMask(Duration longest) {
        requireOpen();
        operations.submit(OpOptions.DEFAULT.timeout(longest), deadline -> {
            recoverer.clearMask(name(), longest);
        });
    }

    @Override
    public Recovery recover(Duration longest) {
        requireOpen();
        AtomicReference<Recovery> result = new AtomicReference<>();
        operations.submit(OpOptions.DEFAULT.timeout(longest), deadline -> {
            result.set(recoverer.recover(completed, deadline));
            completed = 0;
        });
        Recovery recovery = result.get();
        if (recovery == null) {
            throw new EpStateException("the operation ended without a result");
        }
        return recovery;
    }

    /** True if other ranks have done their part of all operations that this rank has begun. */
    private boolean allSucceeded() {
        return succeeded == highThroughput.number() && lowLatency.allSucceeded();
    }

    @Override
    protected boolean isClosed() {
        return operations.isClosed();
    }

    @Override
    public void close() {
        if (operations.close()) {
            highThroughput.close();
            lowLatency.close();
            // Others may still need what this rank, which has all that it needs itself, has sent last.
            state.waits().until(Deadline.in(timeout));
            try {
                state.peers().finish(state.waits().mask());
            } finally {
                free.run();
            }
        }
    }

    private final class Numbers implements Recoverer.Numbers {
        /** Results of low latency are in this rank's own memory, which stays. */
        @Override
        public void moved(SymmetricMemory fresh, long high) {
            highThroughput.dispatches().moved(high);
            highThroughput.combines().moved(high);
        }

        @Override
        public boolean freed() {
            highThroughput.dispatches().freed();
            highThroughput.combines().freed();
            return true;
        }

        @Override
        public long[] begun() {
            return new long[] {
                highThroughput.number(),
                lowLatency.dispatches().number(),
                lowLatency.combines().number()
            };
        }

        @Override
        public void restart(long high, long dispatch, long combine) {
            highThroughput.number(high);
            succeeded = high;
            lowLatency.reset(dispatch, combine);
        }
    }
}
