package org.ep4j.engine.host;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.ep4j.BufferSize;
import org.ep4j.CombineRequest;
import org.ep4j.CombineResult;
import org.ep4j.DataType;
import org.ep4j.DispatchLayout;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpEvent;
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
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.LocalLayout;
import org.ep4j.engine.numeric.RowSum;
import org.ep4j.engine.sync.Deadline;
import org.ep4j.engine.sync.DeathProof;
import org.ep4j.engine.sync.FreshMemory;
import org.ep4j.engine.sync.Receipt;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.Waits;
import org.ep4j.spi.Bootstrap;

/** A buffer whose device is the host. */
final class HostBuffer extends EngineBuffer {
    private final HostState state;
    private final Duration timeout;
    private final Runnable free;
    private final HighThroughput highThroughput;
    private final LowLatency lowLatency;
    private final Recoverer recoverer;
    private final Operations operations;
    private final RowSum sum;

    /** Low-latency combines that callers have asked for; asynchronous ones get their numbers later, when their turn comes. */
    private final AtomicLong lowLatencyCombines = new AtomicLong();

    private long completed;

    /**
     * Over memory that is mapped already.
     *
     * @param fresh makes memory anew
     * @param proofs which ranks are gone
     * @param timeout longest wait of an operation that does not say otherwise
     * @param free gives the memory back; called once
     */
    HostBuffer(
            EpGroup group,
            Bootstrap bootstrap,
            String name,
            BufferSize size,
            HostState state,
            FreshMemory fresh,
            DeathProof proofs,
            Duration timeout,
            Runnable free) {
        super(group, name, state.shape(), state.placement(), size, state.waits());
        this.state = state;
        this.timeout = timeout;
        this.free = free;
        highThroughput = new HighThroughput(state);
        lowLatency = new LowLatency(state);
        recoverer = new Recoverer(new Numbers(), state.peers(), state.waits(), bootstrap, proofs, fresh);
        operations = new Operations(name, timeout, state.waits());
        sum = new RowSum(state.shape().hidden());
        recoverer.start();
    }

    @Override
    public DispatchLayout layout(Tensor topkIds) {
        requireOpen();
        int tokens = state.checks().layoutTokens(topkIds);
        return RoutingLayout.of(
                topkIds,
                tokens,
                state.shape(),
                state.placement(),
                state.waits().mask(),
                group().plan().hostIndex());
    }

    @Override
    public DispatchResult dispatch(DispatchRequest request) {
        requireHighThroughput();
        HighThroughputDispatch dispatch = new HighThroughputDispatch(highThroughput, request);
        return this.<DispatchResult>run(
                request,
                request.options(),
                true,
                deadline -> {
                    fence(deadline);
                    return dispatch.run(deadline);
                },
                AsyncResults.Dispatch::new);
    }

    @Override
    public CombineResult combine(CombineRequest request) {
        requireHighThroughput();
        HighThroughputCombine combine = new HighThroughputCombine(highThroughput, request, sum);
        return this.<CombineResult>run(
                request,
                request.options(),
                true,
                deadline -> {
                    // What another combine staged is staged over; what a dispatch brought stays as it is.
                    if (highThroughput.combinedLast() && fence(deadline)) {
                        throw Waits.moved();
                    }
                    return combine.run(deadline);
                },
                AsyncResults.Combine::new);
    }

    @Override
    public LowLatencyDispatchResult dispatch(LowLatencyDispatchRequest request) {
        requireLowLatency();
        LowLatencyDispatch dispatch = new LowLatencyDispatch(lowLatency, request);
        var flow = lowLatency.dispatches();
        AtomicReference<LowLatencyHandleImpl> sent = new AtomicReference<>();
        Receiving receiving = receiving(
                request.options(),
                request.hook(),
                how -> receiveLater(
                        request,
                        how,
                        flow,
                        () -> present(sent).number(),
                        deadline -> dispatch.receive(present(sent), deadline)));
        return this.<LowLatencyDispatchResult>run(
                request,
                request.options(),
                !request.hook(),
                deadline -> {
                    fence(deadline);
                    LowLatencyHandleImpl handle = dispatch.send(deadline);
                    sent.set(handle);
                    if (!request.hook()) {
                        dispatch.receive(handle, deadline);
                        receiving.receipt().begin(EpEvent::completed);
                    }
                    return new LowLatencyResults.Dispatch(dispatch, flow.validity(), handle, receiving);
                },
                later -> new AsyncResults.LowLatencyDispatched(later, receiving));
    }

    @Override
    public LowLatencyCombineResult combine(LowLatencyCombineRequest request) {
        requireLowLatency();
        LowLatencyCombine combine = new LowLatencyCombine(lowLatency, request, sum);
        lowLatencyCombines.incrementAndGet();
        var flow = lowLatency.combines();
        AtomicReference<Long> sent = new AtomicReference<>();
        Receiving receiving = receiving(
                request.options(),
                request.hook(),
                how -> receiveLater(
                        request, how, flow, () -> present(sent), deadline -> combine.receive(present(sent), deadline)));
        return this.<LowLatencyCombineResult>run(
                request,
                request.options(),
                !request.hook(),
                deadline -> {
                    long number = combine.send(deadline);
                    sent.set(number);
                    if (!request.hook()) {
                        combine.receive(number, deadline);
                        receiving.receipt().begin(EpEvent::completed);
                    }
                    return new LowLatencyResults.Combine(combine, flow.validity(), number, receiving);
                },
                later -> new AsyncResults.LowLatencyCombined(later, receiving));
    }

    private Receiving receiving(OpOptions options, boolean hook, Receiving.Half half) {
        return new Receiving(options, longestWait(options), new Receipt(hook), half);
    }

    /** An operation, and the one before it. */
    private Duration longestWait(OpOptions options) {
        return options.timeout().orElse(timeout).multipliedBy(2);
    }

    private EpEvent receiveLater(
            Object request, OpOptions how, LowLatency.Flow flow, LongSupplier number, Operations.Body body) {
        return operations.submit(how, deadline -> {
            if (!flow.isPending(number.getAsLong())) {
                throw new EpStateException("what this receive() was for is void: the buffer has recovered since");
            }
            try {
                body.run(deadline);
            } catch (EpException e) {
                throw orExpelled(e, "receive");
            } finally {
                Reference.reachabilityFence(request);
            }
            state.waits().requireMember("receive");
            recoverer.completed();
        });
    }

    /** For a rank that is out it is of no use to know how it differs from those that went on. */
    private EpException orExpelled(EpException failure, String phase) {
        state.waits().requireMember(phase);
        return failure;
    }

    /**
     * Makes sure that ranks which were masked meanwhile have no way into memory that is used again.
     *
     * @return true when the buffer has moved for that
     */
    private boolean fence(Deadline deadline) {
        return recoverer.isFenceDue() && recoverer.fence(deadline);
    }

    /**
     * Runs an operation in its turn.
     *
     * @param hears whether it ends only when all ranks have come to it
     */
    private <T> T run(
            Object request,
            OpOptions options,
            boolean hears,
            Function<Deadline, T> work,
            Function<AsyncResults.Later<T>, T> wrap) {
        AtomicReference<T> value = new AtomicReference<>();
        EpEvent event = operations.submit(options, deadline -> {
            try {
                value.set(work.apply(deadline));
            } catch (EpException e) {
                throw orExpelled(e, "operation");
            } finally {
                // The operation works with addresses; the request is what keeps the memory behind them alive.
                Reference.reachabilityFence(request);
            }
            // After the last read of memory of others, which a rank that is out may have read too late.
            state.waits().requireMember("operation");
            if (hears) {
                recoverer.completed();
            }
            completed++;
        });
        return options.async()
                ? wrap.apply(new AsyncResults.Later<>(event, value, longestWait(options)))
                : present(value);
    }

    /** What an operation that has ended well left behind. */
    static <T> T present(AtomicReference<T> value) {
        T result = value.get();
        if (result == null) {
            throw new EpStateException("the operation ended without a result");
        }
        return result;
    }

    @Override
    public Tensor combineInput() {
        requireHighThroughput();
        BufferLayout layout = state.peers().layout();
        return new HostState.Region(state.symmetric(), state.peers().local())
                .tensor(
                        layout.combineArea(),
                        DataType.BF16,
                        layout.combineInputBytes() / layout.rowBytes(),
                        state.shape().hidden());
    }

    @Override
    public Tensor lowLatencyCombineInput() {
        requireLowLatency();
        return state.bank(lowLatencyCombines.get() + 1)
                .tensor(
                        state.layout().offset(LocalLayout.LowLatency.COMBINE_INPUT),
                        DataType.BF16,
                        state.localExperts(),
                        state.shape().lowLatencyRows(state.ranks()),
                        state.shape().hidden());
    }

    @Override
    public void mask(int rank) {
        requireOther(rank);
        operations.submit(OpOptions.DEFAULT, deadline -> recoverer.mask(rank));
    }

    @Override
    public void clearMask(Duration longest) {
        requireOpen();
        operations.submit(OpOptions.DEFAULT.timeout(longest), deadline -> recoverer.clearMask(name(), longest));
    }

    @Override
    public Recovery recover(Duration longest) {
        requireOpen();
        AtomicReference<Recovery> result = new AtomicReference<>();
        operations.submit(OpOptions.DEFAULT.timeout(longest), deadline -> {
            result.set(recoverer.recover(completed, deadline));
            completed = 0;
        });
        return present(result);
    }

    @Override
    protected boolean isClosed() {
        return operations.isClosed();
    }

    @Override
    public void close() {
        if (operations.close()) {
            highThroughput.dispatches().close();
            highThroughput.combines().close();
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
            lowLatency.dispatches().reset(dispatch);
            lowLatency.combines().reset(combine);
        }

        @Override
        public void moved() {
            highThroughput.voidRows();
        }
    }
}
