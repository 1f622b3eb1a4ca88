package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import org.ep4j.DataType;
import org.ep4j.DispatchHandle;
import org.ep4j.EpEvent;
import org.ep4j.RowLayout;
import org.ep4j.engine.sync.Validity;
import org.ep4j.engine.sync.Waits;

/** State that the high-throughput operations of one buffer share. Used under the lock of {@link Operations}. */
final class HighThroughput {
    final GpuState state;
    final HandlePool handles;
    final Validity dispatches = new Validity("dispatch", 1);
    final Validity combines = new Validity("combine", 1);
    private long dispatchCalls;
    private long combineCalls;

    HighThroughput(GpuState state, Cleaner cleaner) {
        this.state = state;
        long counts = 8L * (2 + 2L * state.localExperts() + 1);
        this.handles =
                new HandlePool(state.device(), KernelSizes.handleBytes(state.shape(), state.ranks()), counts, cleaner);
    }

    /** Makes results of earlier dispatches stale; returns a number for {@link Validity}, which counts on this rank only. */
    long beginDispatch() {
        dispatches.begin(++dispatchCalls);
        return dispatchCalls;
    }

    /** Records that the buffer has moved: rows of earlier dispatches are in its old memory. */
    void moved() {
        dispatches.moved(dispatchCalls);
    }

    long beginCombine() {
        combines.begin(++combineCalls);
        return combineCalls;
    }

    void close() {
        dispatches.close();
        combines.close();
        handles.close();
    }

    /** Routing of a high-throughput dispatch. */
    static final class Handle extends HandlePool.PooledHandle<HighThroughput> implements DispatchHandle {
        private final RowLayout layout;
        private final int alignment;
        private final DataType idType;
        private final EpEvent known;

        /** Creates a handle that a dispatch fills; its counts are there after the event {@code known}. */
        Handle(
                HighThroughput owner,
                HandlePool.HandleMemory memory,
                int tokens,
                RowLayout layout,
                int alignment,
                DataType idType,
                EpEvent known) {
            super(owner, owner.handles, memory, tokens);
            this.layout = layout;
            this.alignment = alignment;
            this.idType = idType;
            this.known = known;
        }

        int alignment() {
            return alignment;
        }

        DataType idType() {
            return idType;
        }

        boolean byExpert() {
            return layout == RowLayout.BY_EXPERT;
        }

        /** Reads a word of the counts, which are there when the dispatch has ended. */
        long count(int index) {
            return owner().handles.count(routing(), index);
        }

        /** Waits for the counts. */
        @Override
        public long rows() {
            known.await(Waits.LONGEST);
            return count(1);
        }

        @Override
        public RowLayout layout() {
            return layout;
        }
    }
}
