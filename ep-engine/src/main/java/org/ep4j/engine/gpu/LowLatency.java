package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import java.util.List;
import org.ep4j.EpStateException;
import org.ep4j.LowLatencyHandle;
import org.ep4j.OpOptions;
import org.ep4j.engine.buffer.RequestChecks;
import org.ep4j.engine.sync.Receipt;
import org.ep4j.engine.sync.Validity;

/** What the low-latency operations of one buffer share. Used under the lock of {@link Operations}. */
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

    /** For the second half of an operation with the hook. */
    Operations operations() {
        return operations;
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

    /** A handle of this buffer. */
    LowLatencyHandleImpl own(LowLatencyHandle handle) {
        if (handle instanceof LowLatencyHandleImpl own && own.owner() == this) {
            own.requireOpen();
            return own;
        }
        throw RequestChecks.foreignHandle();
    }

    /** Puts the receiving half of an operation into a queue. */
    interface Receive {
        void queue(Queue queue);
    }

    /** Runs the receiving half of an operation that was sent with the hook; returns when it is done. */
    void receiveLater(Object request, OpOptions options, Receipt receipt, Flow flow, long call, Receive receive) {
        OpOptions now = new OpOptions(List.of(), false, options.stream(), options.timeout());
        receipt.run(() -> operations.submit(request, now, false, (queue, event) -> {
            if (!flow.isPending(call)) {
                throw new EpStateException(
                        "receive() has nothing to receive: the buffer has recovered since the operation was sent");
            }
            receive.queue(queue);
            return event;
        }));
    }

    /** True if nothing that was sent with the hook has still to be received. */
    boolean isAllReceived() {
        return dispatches.isAllReceived() && combines.isAllReceived();
    }

    /** After a recovery nothing is in flight. */
    void reset() {
        dispatches.reset();
        combines.reset();
    }

    void close() {
        dispatches.validity.close();
        combines.validity.close();
        handles.close();
    }

    /**
     * Calls of one kind on this rank; they alternate between two banks of results. (Which bank of symmetric memory an
     * operation uses is decided on the device, by the operation's number.)
     */
    static final class Flow {
        private final String name;
        private final Validity validity;
        private final boolean[] pending = new boolean[2];
        private long calls;

        private Flow(String name) {
            this.name = name;
            this.validity = new Validity(name, 2);
        }

        Validity validity() {
            return validity;
        }

        /** Number of the next call; its parity is the bank. */
        long begin() {
            long next = calls + 1;
            if (pending[(int) (next & 1)]) {
                throw new EpStateException(
                        "receive() of " + name + " number " + (next - 2) + " has not been called, and number " + next
                                + " needs the same memory; at most two can be in flight");
            }
            calls = next;
            pending[(int) (next & 1)] = true;
            validity.begin(next);
            return next;
        }

        /** The next call's number. */
        long next() {
            return calls + 1;
        }

        boolean isPending(long call) {
            return calls - call < 2 && pending[(int) (call & 1)];
        }

        private boolean isAllReceived() {
            return !pending[0] && !pending[1];
        }

        /** The receiving half of a call is queued. */
        void received(long call) {
            pending[(int) (call & 1)] = false;
        }

        /** Nobody will receive a call, whose sending half has failed. */
        void abandon(long call) {
            if (call == calls) {
                pending[(int) (call & 1)] = false;
            }
        }

        private void reset() {
            pending[0] = false;
            pending[1] = false;
        }
    }
}
