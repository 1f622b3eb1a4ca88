package org.ep4j.engine.gpu;

import java.lang.ref.Cleaner;
import org.ep4j.engine.sync.Validity;

/** What the high-throughput operations of one buffer share. Used under the lock of {@link Operations}. */
final class HighThroughput {
    private final GpuState state;
    private final HandlePool handles;
    private final Validity dispatches = new Validity("dispatch", 1);
    private final Validity combines = new Validity("combine", 1);
    private long dispatchCalls;
    private long combineCalls;

    HighThroughput(GpuState state, Cleaner cleaner) {
        this.state = state;
        long counts = 8L * (2 + 2L * state.localExperts() + 1);
        this.handles =
                new HandlePool(state.device(), KernelSizes.handleBytes(state.shape(), state.ranks()), counts, cleaner);
    }

    GpuState state() {
        return state;
    }

    HandlePool handles() {
        return handles;
    }

    Validity dispatches() {
        return dispatches;
    }

    Validity combines() {
        return combines;
    }

    /** Results of earlier dispatches become stale; the number is this buffer's own on this rank, for {@link Validity}. */
    long beginDispatch() {
        dispatches.begin(++dispatchCalls);
        return dispatchCalls;
    }

    /** The buffer has moved: rows of dispatches before are in the memory that it used until now. */
    void moved() {
        dispatches.moved(dispatchCalls);
    }

    /** The memory that the buffer used before it moved last is given back. */
    void freed() {
        dispatches.freed();
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
}
