package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.util.function.Consumer;
import org.ep4j.OpOptions;
import org.ep4j.engine.buffer.LowLatencyResults;
import org.ep4j.engine.gpu.Operations.Queue;
import org.ep4j.engine.sync.Flow;
import org.ep4j.engine.sync.Receipt;

/**
 * What the low-latency operations of one buffer share. Used under the lock of {@link Operations}. Operations are
 * numbered as this rank calls them, for the banks of results. (Which bank of symmetric memory an operation uses is
 * decided on the device, by its number there.)
 */
final class LowLatency {
    private final GpuState state;
    private final Operations operations;
    private final HandlePool handles;
    private final Flow dispatches = new Flow("low-latency dispatch");
    private final Flow combines = new Flow("low-latency combine");

    LowLatency(GpuState state, Operations operations, Cleaner cleaner) {
        this.operations = operations;
        this.state = state;
        this.handles = new HandlePool(
                state.device(), KernelSizes.lowLatencyHandleBytes(state.shape(), state.ranks()), 64, cleaner);
    }

    GpuState state() {
        return state;
    }

    HandlePool handles() {
        return handles;
    }

    Flow dispatches() {
        return dispatches;
    }

    Flow combines() {
        return combines;
    }

    /** Runs the receiving half of an operation that was sent with the hook; returns when it is done. */
    void receiveLater(
            Object request, OpOptions options, Receipt receipt, Flow flow, long call, Consumer<Queue> receive) {
        receipt.run(() -> operations.submit(request, LowLatencyResults.receiving(options), false, (queue, event) -> {
            flow.requirePending(call);
            receive.accept(queue);
            return event;
        }));
    }

    boolean isAllReceived() {
        return dispatches.isAllReceived() && combines.isAllReceived();
    }

    /** After a recovery nothing is in flight. */
    void reset() {
        dispatches.reset(dispatches.number());
        combines.reset(combines.number());
    }

    void close() {
        dispatches.validity().close();
        combines.validity().close();
        handles.close();
    }
}
