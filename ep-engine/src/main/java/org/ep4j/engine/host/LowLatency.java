package org.ep4j.engine.host;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.ep4j.EpEvent;
import org.ep4j.EpStateException;
import org.ep4j.OpOptions;
import org.ep4j.engine.buffer.LowLatencyResults;
import org.ep4j.engine.buffer.RequestTensors;
import org.ep4j.engine.layout.Announcement;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.numeric.Fp8Rows;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.sync.Announcements;
import org.ep4j.engine.sync.Flow;
import org.ep4j.engine.sync.Mask;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

/** State that the low-latency operations of one buffer share: numbering, flow control and scratch memory. */
final class LowLatency {
    private static final int[] NO_INTS = {};

    /** A caller that combines none of its dispatches must not fill the memory. */
    private static final int MOST_UNCOMBINED = 64;

    final HostState state;
    private final Operations operations;
    final CreditedFlow dispatches;
    final CreditedFlow combines;
    /** Numbers of dispatches since the last recovery for which there was no combine. */
    private final Set<Long> uncombined = new HashSet<>();

    private boolean tooManyUncombined;
    final RowCopies copies;
    final RoutingReader reader;
    final FreeList<LowLatencyRouting> routings;
    final Fp8Rows fp8Rows;
    private final int[] selections;
    private final int[] next;

    /** Number of rows of each local expert before those of one source, {@code [L]}, for the dispatch that is received. */
    final int[] sourceFirst;

    private final long[] waited;
    private int[] ownRows = {};

    LowLatency(HostState state, Operations operations) {
        this.state = state;
        this.operations = operations;
        copies = new RowCopies(state.rowLoops());
        reader = new RoutingReader(state.shape(), state.placement());
        fp8Rows = new Fp8Rows(state.shape().hidden(), state.rowLoops());
        selections = new int[state.shape().experts()];
        next = new int[state.localExperts()];
        sourceFirst = new int[state.localExperts()];
        waited = new long[state.ranks()];
        routings = new FreeList<>(() -> new LowLatencyRouting(state.shape().topK(), state.ranks()));
        dispatches = new CreditedFlow(
                "low-latency dispatch", Announcement.LL_DISPATCH, Counter.LL_DISPATCH, Counter.LL_DISPATCH_CREDIT);
        combines = new CreditedFlow(
                "low-latency combine", Announcement.LL_COMBINE, Counter.LL_COMBINE, Counter.LL_COMBINE_CREDIT);
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

    /** Zeroed wait times for each rank in nanoseconds, {@code [R]}, for the operation that is received. */
    long[] waited() {
        Arrays.fill(waited, 0);
        return waited;
    }

    /** Adds {@link #waited} to statistics of the caller. */
    void addWaited(HostMemory statistics) {
        for (int r = 0; r < waited.length; r++) {
            statistics.putLong(8L * r, statistics.getLong(8L * r) + waited[r]);
        }
    }

    /** Room for a row of each selection, for a combine that is received before another operation runs. */
    int[] ownRows(int count) {
        ownRows = Grow.ints(ownRows, count);
        return ownRows;
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

    /** Records that a dispatch has begun: in the combine for it other ranks write to this one. */
    void dispatched(long number) {
        if (uncombined.size() < MOST_UNCOMBINED) {
            uncombined.add(number);
        } else {
            tooManyUncombined = true;
        }
    }

    void combining(long dispatch) {
        uncombined.remove(dispatch);
    }

    /** Returns whether other ranks have done their part of all operations that this rank has begun since the last recovery. */
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

    /** Returns whether the receiving half of an operation has not begun, and still can. */
    boolean isPending(CreditedFlow flow, long number) {
        return flow.isPending(number) && !operations.isClosed();
    }

    /**
     * Runs or queues the receiving half of an operation that was sent with the hook; returns its end.
     *
     * @param receive also releases the handle
     * @param release releases the handle if nothing is received any more
     */
    EpEvent receiveLater(
            Operation sent,
            RequestTensors tensors,
            OpOptions options,
            CreditedFlow flow,
            Operations.Body receive,
            Runnable release) {
        return operations.submit(LowLatencyResults.receiving(options), deadline -> {
            // Throws what the sending half, which ran before, failed with.
            sent.await();
            if (!flow.isPending(sent.number)) {
                release.run();
            }
            flow.requirePending(sent.number);
            state.waits().requireReady();
            try {
                tensors.retain();
            } catch (EpStateException e) {
                // Nothing is received any more, and the next operation needs the bank.
                release.run();
                flow.release(sent.number);
                throw e;
            }
            try {
                receive.run(deadline);
                flow.succeed();
            } finally {
                tensors.release();
            }
            state.waits().requireMember("receive");
        });
    }

    void close() {
        dispatches.validity().close();
        combines.validity().close();
        routings.close();
    }

    /**
     * One kind of operation, with its announcements and counters. A bank of a peer is written again once that peer has given
     * credit for it. Used by the thread that runs operations.
     */
    final class CreditedFlow extends Flow {
        private static final int OPTIONS = 1;
        private static final int MASK = 2;

        /** Word of an announcement that may differ between ranks: number of messages. */
        private static final int COUNT = 3;

        private static final int HANDLE = 4;

        private final Announcement kind;
        private final Counter data;
        private final Counter credit;
        private final String creditPhase;
        private final String receivePhase;
        private final long[] mine = new long[BufferLayout.ANNOUNCEMENT_WORDS];
        private final long[] theirs = new long[BufferLayout.ANNOUNCEMENT_WORDS];
        /** Number of the newest operation before the last recovery. */
        private long over;

        /** Operations that succeeded since the last recovery. */
        private long succeeded;

        private CreditedFlow(String name, Announcement kind, Counter data, Counter credit) {
            super(name);
            this.kind = kind;
            this.data = data;
            this.credit = credit;
            creditPhase = name + " credit";
            receivePhase = name + " receive";
        }

        /**
         * Begins the next operation once its bank is empty here and at all ranks that are not masked.
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

        /** Sends an operation that has begun; if that fails, it is not received either, so its bank is free. */
        void sending(long operation, Runnable send) {
            try {
                send.run();
            } catch (RuntimeException | Error e) {
                release(operation);
                throw e;
            }
        }

        /** Announces to a rank that all messages for it are written. */
        void sent(int target, long operation, long options, long count, long handle, Mask mask) {
            mine[0] = operation;
            mine[OPTIONS] = options;
            mine[MASK] = mask.digest();
            mine[COUNT] = count;
            mine[HANDLE] = handle;
            state.peers().writeAnnouncement(target, kind, operation, mine, NO_INTS);
            state.peers().advance(target, data, operation);
        }

        /**
         * Waits for a rank's messages.
         *
         * @param waited gets the wait time in nanoseconds added at {@code source}
         * @return number of messages
         */
        int await(int source, long operation, long options, long handle, Mask mask, Deadline deadline, long[] waited) {
            waited[source] += state.waits().await(data, source, operation, deadline, receivePhase);
            state.peers().readAnnouncement(kind, operation, source, theirs);
            if (theirs[0] != operation
                    || theirs[OPTIONS] != options
                    || theirs[HANDLE] != handle
                    || theirs[MASK] != mask.digest()) {
                long[] own = {operation, options, mask.digest(), 0, handle};
                throw Announcements.lowLatency(
                        state.peers().label(source), mask, kind == Announcement.LL_DISPATCH, own, theirs);
            }
            return (int) theirs[COUNT];
        }

        /** Gives credit for the bank of an operation, whether that succeeded or not. */
        void release(long operation) {
            end(operation);
            // The other bank may hold an operation before this one, which is received later.
            giveCredit(isAllReceived() ? number() : operation == number() ? operation - 2 : operation);
        }

        private void giveCredit(long emptied) {
            Mask mask = state.waits().mask();
            for (int r = 0; r < state.ranks(); r++) {
                if (!mask.has(r)) {
                    state.peers().tryAdvance(r, credit, emptied);
                }
            }
        }

        void succeed() {
            succeeded++;
        }

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
