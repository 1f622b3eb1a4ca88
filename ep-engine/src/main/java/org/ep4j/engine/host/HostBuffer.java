package org.ep4j.engine.host;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.ep4j.BufferSize;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpEvent;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.OpOptions;
import org.ep4j.Recovery;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.BufferContext;
import org.ep4j.engine.buffer.DeviceBuffer;
import org.ep4j.engine.buffer.RequestTensors;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.transport.Deadline;

/** A buffer of the host engine: runs the operations of both modes one after another, recovers and closes. */
final class HostBuffer implements DeviceBuffer {
    private final BufferContext context;
    private final HostState state;
    private final Duration timeout;
    private final Runnable free;
    private final HighThroughput highThroughput;
    private final LowLatency lowLatency;
    private final Recoverer recoverer;

    /** Low-latency combines that were called. Those that are queued have no number yet. */
    private final AtomicLong lowLatencyCombines = new AtomicLong();

    private final Operations operations;
    private final RowSum sum;
    /** Operations completed since {@link #recover} last returned. */
    private long completed;

    /** Number of the newest high-throughput operation that succeeded, or after which the buffer recovered. */
    private long succeeded;

    /** Creates it over memory that {@code free}, which is called once, releases; {@code timeout} is for operations without one. */
    HostBuffer(BufferContext context, HostState state, Duration timeout, Runnable free) {
        this.context = context;
        this.state = state;
        this.timeout = timeout;
        this.free = free;
        operations = new Operations(context.name(), timeout, state.waits());
        highThroughput = new HighThroughput(state);
        lowLatency = new LowLatency(state, operations);
        recoverer = new Recoverer(
                new Numbers(), state.peers(), state.waits(), context.bootstrap(), context.recoverability());
        sum = new RowSum(state.shape().hidden(), state.rowLoops());
    }

    /** See {@link Recoverer#numberFrom}. */
    void numberFrom(long first) {
        recoverer.numberFrom(first);
    }

    @Override
    public HostState state() {
        return state;
    }

    @Override
    public BufferSize size() {
        return context.size();
    }

    @Override
    public DispatchLayout dispatchLayout(Tensor topkIds) {
        int tokens = state.checks().layoutTokens(topkIds);
        return HostBuffers.dispatchLayout(topkIds, tokens, state, context.plan());
    }

    @Override
    public DispatchResult dispatch(DispatchRequest request, OpOptions options) {
        HighThroughputDispatch dispatch = new HighThroughputDispatch(highThroughput, request);
        RequestTensors tensors = RequestTensors.of(request).check(state.symmetric());
        return dispatch.result(run(dispatch, tensors, options));
    }

    @Override
    public CombineResult combine(CombineRequest request, OpOptions options) {
        HighThroughputCombine combine = new HighThroughputCombine(highThroughput, request, sum);
        RequestTensors tensors = RequestTensors.of(request).checkCombine(state.symmetric(), state.symmetricLayout());
        return combine.result(run(combine, tensors, options));
    }

    @Override
    public LowLatencyDispatchResult lowLatencyDispatch(LowLatencyDispatchRequest request, OpOptions options) {
        LowLatencyDispatch dispatch = new LowLatencyDispatch(lowLatency, request, options);
        RequestTensors tensors = RequestTensors.of(request).check(state.symmetric());
        return dispatch.result(run(dispatch, tensors, options));
    }

    @Override
    public CombineResult lowLatencyCombine(LowLatencyCombineRequest request, OpOptions options) {
        LowLatencyCombine combine = new LowLatencyCombine(lowLatency, request, options, sum);
        RequestTensors tensors = RequestTensors.of(request).check(state.symmetric());
        lowLatencyCombines.incrementAndGet();
        return combine.result(run(combine, tensors, options));
    }

    /** Runs or queues an operation; returns its end. */
    private EpEvent run(Operation operation, RequestTensors tensors, OpOptions options) {
        EpEvent event = operations.submit(options, deadline -> {
            state.waits().requireReady();
            long before = highThroughput.number;
            tensors.retain();
            try {
                operation.run(deadline);
            } finally {
                tensors.release();
            }
            // A rank that the others have left out must not use what it has read.
            state.waits().requireMember("the end of an operation");
            if (highThroughput.number != before) {
                succeeded = highThroughput.number;
            }
            completed++;
        });
        if (options.isAsynchronous()) {
            operation.endsWith(event, options.timeout().orElse(timeout).multipliedBy(2));
        }
        return event;
    }

    @Override
    public long lowLatencyCombines() {
        return lowLatencyCombines.get();
    }

    @Override
    public void mask(int rank) {
        operations.submit(OpOptions.DEFAULT, deadline -> {
            recoverer.mask(rank, allSucceeded(), completed, deadline);
        });
    }

    @Override
    public void clearMasks(Duration longest) {
        operations.submit(OpOptions.DEFAULT.timeout(longest), deadline -> {
            recoverer.clearMasks(context.name(), longest);
        });
    }

    @Override
    public Recovery recover(Duration longest) {
        CompletableFuture<Recovery> result = new CompletableFuture<>();
        operations.submit(OpOptions.DEFAULT.timeout(longest), deadline -> {
            result.complete(recoverer.recover(completed, deadline));
            completed = 0;
        });
        return result.join();
    }

    /** Returns whether other ranks have done their part of all operations that this rank has begun. */
    private boolean allSucceeded() {
        return succeeded == highThroughput.number && lowLatency.allSucceeded();
    }

    @Override
    public boolean isClosed() {
        return operations.isClosed();
    }

    @Override
    public void close() {
        if (operations.close()) {
            highThroughput.close();
            lowLatency.close();
            // Other ranks may still need what this rank has sent last.
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
            highThroughput.dispatches.moved(high);
            highThroughput.combines.moved(high);
        }

        @Override
        public boolean freed() {
            highThroughput.dispatches.freed();
            highThroughput.combines.freed();
            return true;
        }

        @Override
        public long[] begun() {
            return new long[] {highThroughput.number, lowLatency.dispatches.number(), lowLatency.combines.number()};
        }

        @Override
        public void restart(long high, long dispatch, long combine) {
            highThroughput.number = high;
            succeeded = high;
            lowLatency.reset(dispatch, combine);
        }
    }
}
