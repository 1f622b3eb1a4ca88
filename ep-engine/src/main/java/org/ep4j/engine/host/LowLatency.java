package org.ep4j.engine.host;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpStateException;
import org.ep4j.OpOptions;
import org.ep4j.engine.buffer.LowLatencyResults;
import org.ep4j.engine.buffer.RequestTensors;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.numeric.Fp8Rows;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.sync.Flow;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.OperationNames;
import org.ep4j.engine.sync.Receipt;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

/** What the low-latency operations of one buffer share: numbering, flow control and scratch memory. */
final class LowLatency {
    private static final int[] NO_INTS = {};

    /** A caller that combines none of its dispatches must not fill the memory. */
    private static final int MOST_UNCOMBINED = 64;

    private final HostState state;
    private final Operations operations;
    private final CreditedFlow dispatches;
    private final CreditedFlow combines;
    /** Numbers of dispatches since the last recovery for which there was no combine. */
    private final Set<Long> uncombined = new HashSet<>();

    private boolean tooManyUncombined;
    private final RowCopies copies;
    private final RoutingReader reader;
    private final FreeList<LowLatencyRouting> routings;
    private final int[] selections;
    private final int[] next;
    private final int[] sourceFirst;
    private final long[] waited;
    private int[] ownRows = {};
    private Optional<Fp8Rows> fp8Rows = Optional.empty();

    LowLatency(HostState state, Operations operations) {
        this.state = state;
        this.operations = operations;
        copies = new RowCopies(state.rowLoops());
        reader = new RoutingReader(state.shape(), state.placement());
        selections = new int[state.shape().experts()];
        next = new int[state.localExperts()];
        sourceFirst = new int[state.localExperts()];
        waited = new long[state.ranks()];
        routings = new FreeList<>(() -> new LowLatencyRouting(state.shape().topK(), state.ranks()));
        dispatches = new CreditedFlow(
                "low-latency dispatch", Block.LL_DISPATCH, Counter.LL_DISPATCH, Counter.LL_DISPATCH_CREDIT);
        combines = new CreditedFlow(
                "low-latency combine", Block.LL_COMBINE, Counter.LL_COMBINE, Counter.LL_COMBINE_CREDIT);
    }

    HostState state() {
        return state;
    }

    RowCopies copies() {
        return copies;
    }

    RoutingReader reader() {
        return reader;
    }

    /** Zeroed counters of the selections of each expert, {@code [E]}, for the dispatch that is sent. */
    int[] selections() {
        Arrays.fill(selections, 0);
        return selections;
    }

    /** Zeroed numbers of rows of each local expert, {@code [L]}, for the dispatch that is received. */
    int[] next() {
        Arrays.fill(next, 0);
        return next;
    }

    /** Numbers of rows of each local expert before those of one source, {@code [L]}, for the dispatch that is received. */
    int[] sourceFirst() {
        return sourceFirst;
    }

    /** Zeroed nanoseconds that were waited for each rank, {@code [R]}, for the operation that is received. */
    long[] waited() {
        Arrays.fill(waited, 0);
        return waited;
    }

    /** Room for a row of each selection, for a combine that is received before another operation runs. */
    int[] ownRows(int count) {
        ownRows = Grow.ints(ownRows, count);
        return ownRows;
    }

    FreeList<LowLatencyRouting> routings() {
        return routings;
    }

    /** Copies a row to a rank: at once to one that is posted to, since the next row for it posts this one. */
    void copyTo(int target, long place, HostMemory source, long offset, long bytes) {
        HostMemory memory = state.peers().through(target);
        if (state.peers().isPostedTo(target)) {
            memory.copy(place, source, offset, bytes);
        } else {
            copies.add(memory, place, source, offset, bytes);
        }
    }

    Fp8Rows fp8Rows() {
        if (fp8Rows.isEmpty()) {
            fp8Rows = Optional.of(new Fp8Rows(state.shape().hidden(), state.rowLoops()));
        }
        return fp8Rows.get();
    }

    /** A dispatch has begun; other ranks owe this one the rows of a combine for it, in which they may write here. */
    void dispatched(long number) {
        if (uncombined.size() < MOST_UNCOMBINED) {
            uncombined.add(number);
        } else {
            tooManyUncombined = true;
        }
    }

    /** A combine for a dispatch has begun. */
    void combining(long dispatch) {
        uncombined.remove(dispatch);
    }

    /** True if other ranks have done their part of all operations that this rank has begun since the last recovery. */
    boolean allSucceeded() {
        return uncombined.isEmpty() && !tooManyUncombined && dispatches.allSucceeded() && combines.allSucceeded();
    }

    /** Numbers the next operations after these, with all banks empty. */
    void reset(long dispatch, long combine) {
        uncombined.clear();
        tooManyUncombined = false;
        dispatches.reset(dispatch);
        combines.reset(combine);
    }

    CreditedFlow dispatches() {
        return dispatches;
    }

    CreditedFlow combines() {
        return combines;
    }

    /** Runs the receiving half of an operation that was sent with the hook; returns when it is done. */
    void receiveLater(
            RequestTensors tensors,
            OpOptions options,
            Receipt receipt,
            CreditedFlow flow,
            long number,
            Operations.Body receive) {
        operations.submit(
                LowLatencyResults.receiving(options),
                deadline -> receipt.run(() -> {
                    flow.requirePending(number);
                    state.waits().requireReady();
                    try {
                        tensors.retain();
                    } catch (EpStateException e) {
                        // Nothing is received any more, and the next operation needs the bank.
                        flow.release(number);
                        throw e;
                    }
                    try {
                        receive.run(deadline);
                        flow.succeed();
                    } finally {
                        tensors.release();
                    }
                    state.waits().requireMember("receive");
                }));
    }

    void close() {
        dispatches.validity().close();
        combines.validity().close();
        routings.close();
    }

    /**
     * One kind of operation, with the blocks and counters that ranks exchange for it. A bank of a peer may be written
     * again when that peer has said that it emptied it. Used by the thread that runs operations.
     */
    final class CreditedFlow extends Flow {
        /** Word of a block that must be equal on all ranks. */
        static final int OPTIONS = 1;

        /** Word of a block: the mask's digest. */
        static final int MASK = 2;

        /** Word of a block: number of messages. */
        static final int COUNT = 3;

        /** Word of a block: number of the dispatch whose routing is used. */
        static final int HANDLE = 4;

        private final Block block;
        private final Counter data;
        private final Counter credit;
        private final String creditPhase;
        private final String receivePhase;
        private final long[] mine = new long[BufferLayout.BLOCK_WORDS];
        private final long[] theirs = new long[BufferLayout.BLOCK_WORDS];
        /** Operations up to this one are over: there was a recovery since. */
        private long over;

        /** Operations that succeeded since the last recovery. */
        private long succeeded;

        private CreditedFlow(String name, Block block, Counter data, Counter credit) {
            super(name);
            this.block = block;
            this.data = data;
            this.credit = credit;
            creditPhase = name + " credit";
            receivePhase = name + " receive";
        }

        /**
         * Begins the next operation: its bank is empty here and at all ranks that are not masked.
         *
         * @return its number
         */
        long begin(Mask mask, Deadline deadline) {
            long next = begin();
            state.waits().begin(data, next);
            try {
                for (int r = 0; r < state.ranks(); r++) {
                    if (!mask.has(r)) {
                        state.waits().await(credit, r, next - 2, deadline, creditPhase);
                    }
                }
            } catch (RuntimeException | Error e) {
                end(next);
                throw e;
            }
            return next;
        }

        /** Sends for an operation that has begun; one that cannot be sent is not received either, so its bank is free. */
        void sending(long operation, Runnable send) {
            boolean sent = false;
            try {
                send.run();
                sent = true;
            } finally {
                if (!sent) {
                    release(operation);
                }
            }
        }

        /** Tells a rank that all messages for it are written. */
        void sent(int target, long operation, long options, long count, long handle, Mask mask) {
            mine[0] = operation;
            mine[OPTIONS] = options;
            mine[MASK] = mask.digest();
            mine[COUNT] = count;
            mine[HANDLE] = handle;
            state.peers().writeBlock(target, block, operation, mine, NO_INTS);
            state.peers().advance(target, data, operation);
        }

        /**
         * Waits for a rank's messages.
         *
         * @param waited nanoseconds waited are added at {@code source}
         * @return how many there are
         */
        int await(int source, long operation, long options, long handle, Mask mask, Deadline deadline, long[] waited) {
            waited[source] += state.waits().await(data, source, operation, deadline, receivePhase);
            state.peers().readBlock(block, operation, source, theirs);
            if (theirs[0] != operation
                    || theirs[OPTIONS] != options
                    || theirs[HANDLE] != handle
                    || theirs[MASK] != mask.digest()) {
                long[] own = {operation, options, mask.digest(), 0, handle};
                throw OperationNames.lowLatency(
                        state.peers().label(source), mask, block == Block.LL_DISPATCH, own, theirs);
            }
            return (int) theirs[COUNT];
        }

        /** Says that this rank has emptied its bank of an operation, whether that ended well or not. */
        void release(long operation) {
            end(operation);
            // The other bank may hold an operation before this one, which is received later.
            giveCredit(isAllReceived() ? number() : operation == number() ? operation - 2 : operation);
        }

        private void giveCredit(long emptied) {
            Mask mask = state.waits().mask();
            for (int r = 0; r < state.ranks(); r++) {
                if (!mask.has(r)) {
                    state.peers().tell(r, credit, emptied);
                }
            }
        }

        void succeed() {
            succeeded++;
        }

        /** True if all operations that have begun since the last recovery have ended without a failure. */
        private boolean allSucceeded() {
            return succeeded == number() - over;
        }

        @Override
        public void reset(long last) {
            super.reset(last);
            over = last;
            succeeded = 0;
            giveCredit(last);
        }
    }
}
