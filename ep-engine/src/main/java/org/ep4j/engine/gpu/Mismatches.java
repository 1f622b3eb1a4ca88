package org.ep4j.engine.gpu;

import org.ep4j.EpMismatchException;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.sync.OperationNames;
import org.ep4j.engine.sync.Waits;

/** What two ranks did differently, from the heads of their blocks. */
@SuppressWarnings("EnumOrdinal") // kernels know the enum by its order
final class Mismatches {
    private Mismatches() {}

    static EpMismatchException describe(int block, Waits waits, int peer, long[] mine, long[] theirs) {
        String who = waits.label(peer);
        return block == Block.HIGH_THROUGHPUT.ordinal()
                ? OperationNames.highThroughput(who, waits.mask(), mine, theirs)
                : OperationNames.lowLatency(who, waits.mask(), block == Block.LL_DISPATCH.ordinal(), mine, theirs);
    }
}
