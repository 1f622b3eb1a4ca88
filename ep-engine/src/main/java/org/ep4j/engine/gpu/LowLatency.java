package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.engine.buffer.LowLatencyResults;
import org.ep4j.engine.gpu.Operations.FirstHalf;
import org.ep4j.engine.gpu.Operations.Queue;
import org.ep4j.engine.sync.Flow;

/**
 * State that the low-latency operations of one buffer share. Used under the lock of {@link Operations}. Operations are
 * numbered in the order of this rank's calls, for the banks of results. (The bank of symmetric memory follows from the operation's number
 * on the device.)
 */
final class LowLatency {
    final GpuState state;
    private final Operations operations;
    final HandlePool handles;
    final Flow dispatches = new Flow("low-latency dispatch");
    final Flow combines = new Flow("low-latency combine");

    /** Numbers of operations in graphs. */
    private final Set<Long> recorded = ConcurrentHashMap.newKeySet();

    LowLatency(GpuState state, Operations operations, Cleaner cleaner) {
        this.operations = operations;
        this.state = state;
        this.handles = new HandlePool(
                state.device(), KernelSizes.lowLatencyHandleBytes(state.shape(), state.ranks()), 64, cleaner);
        operations.beforeReplay(numbers -> {
            if (!isAllReceived() && numbers.stream().anyMatch(recorded::contains)) {
                dispatches.requireAllReceived();
                combines.requireAllReceived();
            }
        });
    }

    /**
     * Notes the first half of an operation with the hook, or an operation in a graph. Returns what its second half needs to know.
     */
    FirstHalf sent(Queue queue, Flow flow, long call) {
        FirstHalf half = queue.firstHalf();
        half.recording().ifPresent(recording -> {
            recorded.add(half.number());
            flow.recorded(call);
            recording.beforeEnd(() -> flow.requireRecorded(call));
            recording.whenClosed(() -> {
                recorded.remove(half.number());
                // Only of a graph that was never created is the operation not received.
                flow.end(call);
            });
        });
        return half;
    }

    /** Queues the receiving half of an operation that was sent with the hook, then releases its handle; returns its end. */
    EpEvent receiveLater(
            Object request,
            OpOptions options,
            FirstHalf first,
            Flow flow,
            long call,
            Handle handle,
            Consumer<Queue> receive) {
        return operations.submitSecond(request, LowLatencyResults.receiving(options), first, (queue, event) -> {
            try {
                flow.requirePending(call);
                receive.accept(queue);
            } finally {
                handle.release();
            }
            return event;
        });
    }

    /** Returns whether the receiving half of an operation has not begun, and still can. */
    boolean isPending(Flow flow, long call) {
        return flow.isPending(call) && !operations.isClosed();
    }

    boolean isAllReceived() {
        return dispatches.isAllReceived() && combines.isAllReceived();
    }

    /** Forgets operations in flight, after a recovery. */
    void reset() {
        dispatches.reset(dispatches.number());
        combines.reset(combines.number());
    }

    void close() {
        dispatches.validity().close();
        combines.validity().close();
        handles.close();
    }

    /** Routing of a low-latency dispatch. */
    static final class Handle extends HandlePool.PooledHandle<LowLatency> implements LowLatencyHandle {
        private final boolean weighted;
        private volatile boolean received;

        Handle(LowLatency owner, HandlePool.HandleMemory memory, int tokens, boolean weighted) {
            super(owner, owner.handles, memory, tokens);
            this.weighted = weighted;
        }

        boolean weighted() {
            return weighted;
        }

        /** Records that the receiving half of the dispatch is queued. */
        void received() {
            received = true;
        }

        void requireReceived() {
            if (!received) {
                throw new EpStateException(
                        "the dispatch of this handle has not been received; call receive() of its result");
            }
        }
    }
}
