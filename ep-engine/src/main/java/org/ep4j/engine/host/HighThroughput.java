package org.ep4j.engine.host;

import java.util.Arrays;
import java.util.function.IntPredicate;
import org.ep4j.EpMismatchException;
import org.ep4j.engine.layout.Announcement;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.rows.RowCopies;
import org.ep4j.engine.sync.Announcements;
import org.ep4j.engine.sync.Mask;
import org.ep4j.engine.sync.Peers;
import org.ep4j.engine.sync.Validity;
import org.ep4j.transport.Deadline;
import org.ep4j.transport.memory.HostMemory;

/**
 * Numbering and announcements of the high-throughput operations of one buffer. Every operation begins with an announcement to each
 * rank: the request and, in a dispatch, the number of rows. It also permits to write to this rank's memory.
 */
final class HighThroughput {
    /** Kinds of operations, which ranks compare. */
    enum Kind {
        DISPATCH(1),
        CACHED_DISPATCH(2),
        COMBINE_ROWS(3),
        COMBINE_SELECTIONS(4);

        private final int code;
        private final String beginPhase;

        Kind(int code) {
            this.code = code;
            beginPhase = Announcements.kind(code) + " begin";
        }
    }

    private static final int NUMBER = 0;
    private static final int KIND = 1;
    private static final int FLAGS = 2;
    private static final int HANDLE = 3;
    private static final int MASK = 4;
    private static final int INPUT = 5;
    private static final int RELAYED = 6;

    /** Words that are equal on all ranks. */
    private static final int[] AGREED = {NUMBER, MASK, KIND, FLAGS, HANDLE};

    final HostState state;
    final RowCopies copies;
    final SentRecords sentRecords;
    final ReceivedRecords records;
    final RoutingReader reader;
    final FreeList<HighThroughputRouting> routings;
    final Validity dispatches = new Validity("dispatch", 1);
    final Validity combines = new Validity("combine", 1);
    private final long[] mine = new long[BufferLayout.ANNOUNCEMENT_WORDS];
    private final long[] theirs = new long[BufferLayout.ANNOUNCEMENT_WORDS];
    private final int[] rows;
    private final long[] inputs;
    private final long[] relayed;
    private final long[] waited;

    /** Number of the newest operation. */
    long number;

    HighThroughput(HostState state) {
        this.state = state;
        this.copies = new RowCopies(state.rowLoops());
        rows = new int[state.ranks()];
        inputs = new long[state.ranks()];
        relayed = new long[state.ranks()];
        waited = new long[state.ranks()];
        int topK = state.shape().topK();
        this.sentRecords = new SentRecords(state.peers().layout(), state.placement(), topK);
        this.records = new ReceivedRecords(state.peers().layout(), topK, state.localExperts());
        this.reader = new RoutingReader(state.shape(), state.placement());
        this.routings = new FreeList<>(() -> new HighThroughputRouting(topK, state.ranks(), state.localExperts()));
    }

    void close() {
        dispatches.close();
        combines.close();
        routings.close();
    }

    /**
     * An operation that has begun. Its arrays belong to the mode; the next operation overwrites them.
     *
     * @param number of the operation
     * @param mask ranks left out
     * @param inputs for each rank, where its combine input begins in its symmetric memory
     * @param relayed for each rank, the number of its tokens that this rank forwards
     * @param waited for each rank, the nanoseconds that this rank has waited for its announcement and its rows
     */
    @SuppressWarnings("ArrayRecordComponent")
    record Begun(long number, Mask mask, long[] inputs, long[] relayed, long[] waited) {
        /** Adds {@link #waited} to statistics of the caller. */
        void addWaited(HostMemory statistics) {
            for (int r = 0; r < waited.length; r++) {
                statistics.putLong(8L * r, statistics.getLong(8L * r) + waited[r]);
            }
        }
    }

    /**
     * Announces an operation to all ranks and waits until they announce the same.
     *
     * @param ofRanks for each rank, in a dispatch, the rows for it; in a combine to which peers post their rows, where
     *     theirs begin among {@link BufferLayout#returnedRow}; empty otherwise
     * @param relayedBy for each rank, the number of tokens that it forwards for this one
     * @throws EpMismatchException when a rank announces another operation
     */
    Begun begin(Kind kind, long flags, long handle, long input, int[] ofRanks, int[] relayedBy, Deadline deadline) {
        number++;
        Peers<HostMemory> peers = state.peers();
        Mask mask = state.waits().mask();
        // Before the announcement, which lets the others write where the rows of the result before are.
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
            mine[RELAYED] = relayedBy[r];
            peers.writeAnnouncement(r, Announcement.HIGH_THROUGHPUT, number, mine, ofRanks);
            peers.advance(r, Counter.HT_ENTER, number);
        }
        Arrays.fill(waited, 0);
        for (int r = 0; r < peers.ranks(); r++) {
            inputs[r] = 0;
            relayed[r] = 0;
            if (mask.has(r)) {
                continue;
            }
            waited[r] = state.waits().await(Counter.HT_ENTER, r, number, deadline, kind.beginPhase);
            peers.readAnnouncement(Announcement.HIGH_THROUGHPUT, number, r, theirs);
            checkSame(r);
            inputs[r] = theirs[INPUT];
            relayed[r] = theirs[RELAYED];
        }
        return new Begun(number, mask, inputs, relayed, waited);
    }

    /** Returns what {@code source} announced for each rank; valid until the next call. */
    int[] ofRanks(int source, long operation) {
        BufferLayout layout = state.peers().layout();
        long offset =
                layout.announcement(Announcement.HIGH_THROUGHPUT, operation, source) + BufferLayout.announcementInts();
        state.peers().local().getInts(offset, rows, 0, rows.length);
        return rows;
    }

    private void checkSame(int source) {
        for (int word : AGREED) {
            if (theirs[word] != mine[word]) {
                throw Announcements.highThroughput(
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

    void await(Begun begun, Counter counter, IntPredicate which, Deadline deadline, String phase) {
        for (int r = 0; r < state.ranks(); r++) {
            if (!begun.mask().has(r) && which.test(r)) {
                long nanos = state.waits().await(counter, r, begun.number(), deadline, phase);
                // At the end of a combine nothing arrives.
                begun.waited()[r] += counter == Counter.HT_DATA ? nanos : 0;
            }
        }
    }
}
