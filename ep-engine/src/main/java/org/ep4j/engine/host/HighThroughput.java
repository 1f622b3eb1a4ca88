package org.ep4j.engine.host;

import java.util.function.IntPredicate;
import org.ep4j.EpMismatchException;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.OperationNames;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Validity;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

/**
 * Numbering and agreement of the high-throughput operations of one buffer. Every operation begins by telling each rank
 * what comes and, in a dispatch, how many rows; that this rank has begun also means that its memory may be written to.
 */
final class HighThroughput {
    /** What an operation is; part of what ranks must agree on. */
    enum Kind {
        DISPATCH(1),
        CACHED_DISPATCH(2),
        COMBINE_ROWS(3),
        COMBINE_SELECTIONS(4);

        private final int code;
        private final String beginPhase;

        Kind(int code) {
            this.code = code;
            beginPhase = OperationNames.kind(code) + " begin";
        }
    }

    private static final int NUMBER = 0;
    private static final int KIND = 1;
    private static final int FLAGS = 2;
    private static final int HANDLE = 3;
    private static final int MASK = 4;
    private static final int INPUT = 5;
    private static final int PASSED = 6;

    /** Words that are equal on all ranks. */
    private static final int[] AGREED = {NUMBER, MASK, KIND, FLAGS, HANDLE};

    private final HostState state;
    private final RowCopies copies;
    private final SentRecords sentRecords;
    private final ReceivedRecords records;
    private final RoutingReader reader;
    private final FreeList<HighThroughputRouting> routings;
    private final Validity dispatches = new Validity("dispatch", 1);
    private final Validity combines = new Validity("combine", 1);
    private final long[] mine = new long[BufferLayout.BLOCK_WORDS];
    private final long[] theirs = new long[BufferLayout.BLOCK_WORDS];
    private final int[] rows;
    private final long[] inputs;
    private final long[] passed;
    private long number;

    HighThroughput(HostState state) {
        this.state = state;
        this.copies = new RowCopies(state.rowLoops());
        rows = new int[state.ranks()];
        inputs = new long[state.ranks()];
        passed = new long[state.ranks()];
        int topK = state.shape().topK();
        this.sentRecords = new SentRecords(state.peers().layout(), state.placement(), topK);
        this.records = new ReceivedRecords(state.peers().layout(), topK, state.localExperts());
        this.reader = new RoutingReader(state.shape(), state.placement());
        this.routings = new FreeList<>(() -> new HighThroughputRouting(topK, state.ranks(), state.localExperts()));
    }

    HostState state() {
        return state;
    }

    RowCopies copies() {
        return copies;
    }

    SentRecords sentRecords() {
        return sentRecords;
    }

    ReceivedRecords records() {
        return records;
    }

    RoutingReader reader() {
        return reader;
    }

    FreeList<HighThroughputRouting> routings() {
        return routings;
    }

    void close() {
        dispatches.close();
        combines.close();
        routings.close();
    }

    Validity dispatches() {
        return dispatches;
    }

    Validity combines() {
        return combines;
    }

    long number() {
        return number;
    }

    void number(long next) {
        number = next;
    }

    /**
     * An operation that has begun. Its arrays belong to the mode; the next operation overwrites them.
     *
     * @param number of the operation
     * @param mask ranks left out
     * @param inputs for each rank, where its combine input begins in its symmetric memory
     * @param passed for each rank, of how many of its tokens this rank passes rows on
     */
    @SuppressWarnings("ArrayRecordComponent")
    record Begun(long number, Mask mask, long[] inputs, long[] passed) {}

    /**
     * Tells all ranks what this one does and waits until they do the same.
     *
     * @param ofRanks for each rank, in a dispatch, the rows for it; in a combine to which peers post their rows, where
     *     theirs begin among {@link BufferLayout#returnedRow}; empty otherwise
     * @param passedBy for each rank, of how many tokens it passes rows on for this one
     * @throws EpMismatchException when a rank does something else
     */
    Begun begin(Kind kind, long flags, long handle, long input, int[] ofRanks, int[] passedBy, Deadline deadline) {
        number++;
        Peers<HostMemory> peers = state.peers();
        Mask mask = state.waits().mask();
        // Before the others know, since they may then write where the rows of the result before are.
        (kind == Kind.DISPATCH || kind == Kind.CACHED_DISPATCH ? dispatches : combines).begin(number);
        state.waits().begin(Counter.HT_ENTER, number);
        mine[NUMBER] = number;
        mine[KIND] = kind.code;
        mine[FLAGS] = flags;
        mine[HANDLE] = handle;
        mine[MASK] = mask.digest();
        mine[INPUT] = input;
        for (int r = 0; r < peers.ranks(); r++) {
            if (mask.has(r)) {
                continue;
            }
            mine[PASSED] = passedBy[r];
            peers.writeBlock(r, Block.HIGH_THROUGHPUT, number, mine, ofRanks);
            peers.advance(r, Counter.HT_ENTER, number);
        }
        for (int r = 0; r < peers.ranks(); r++) {
            inputs[r] = 0;
            passed[r] = 0;
            if (mask.has(r)) {
                continue;
            }
            state.waits().await(Counter.HT_ENTER, r, number, deadline, kind.beginPhase);
            peers.readBlock(Block.HIGH_THROUGHPUT, number, r, theirs);
            checkSame(r);
            inputs[r] = theirs[INPUT];
            passed[r] = theirs[PASSED];
        }
        return new Begun(number, mask, inputs, passed);
    }

    /** What {@code source} announced for each rank; it stays until the next call. */
    int[] ofRanks(int source, long operation) {
        long offset = state.peers().layout().block(Block.HIGH_THROUGHPUT, operation, source) + BufferLayout.blockInts();
        state.peers().local().getInts(offset, rows, 0, rows.length);
        return rows;
    }

    private void checkSame(int source) {
        for (int word : AGREED) {
            if (theirs[word] != mine[word]) {
                throw OperationNames.highThroughput(
                        state.peers().label(source), state.waits().mask(), mine, theirs);
            }
        }
    }

    void advance(Begun begun, Counter counter, IntPredicate which) {
        for (int r = 0; r < state.ranks(); r++) {
            if (!begun.mask().has(r) && which.test(r)) {
                state.peers().advance(r, counter, begun.number());
            }
        }
    }

    void awaitAll(Begun begun, Counter counter, Deadline deadline, String phase) {
        await(begun, counter, r -> true, deadline, phase);
    }

    void await(Begun begun, Counter counter, IntPredicate which, Deadline deadline, String phase) {
        for (int r = 0; r < state.ranks(); r++) {
            if (!begun.mask().has(r) && which.test(r)) {
                state.waits().await(counter, r, begun.number(), deadline, phase);
            }
        }
    }
}
