package org.ep4j.engine.sync;

import org.ep4j.EpMismatchException;

/**
 * What ranks tell each other about an operation: the words at the head of a block, in high throughput number, kind, options,
 * handle and mask; in low latency number, options, mask, number of messages and handle.
 */
public final class OperationNames {
    /** Kinds of high-throughput operations, from 1. */
    private static final String[] KINDS = {"dispatch", "cached dispatch", "combine rows", "combine selections"};

    /** Of the options of a high-throughput dispatch. */
    private static final long FNUZ = 4;

    private OperationNames() {}

    /** Name of a kind of high-throughput operation. */
    public static String kind(long code) {
        return code >= 1 && code <= KINDS.length ? KINDS[(int) code - 1] : "operation " + code;
    }

    /** Two heads of high-throughput blocks that differ. */
    public static EpMismatchException highThroughput(String who, Mask mask, long[] mine, long[] theirs) {
        if (theirs[0] != mine[0]) {
            return new EpMismatchException(who + " is at operation " + theirs[0] + ", this rank at " + mine[0]
                    + "; call recover on all ranks");
        }
        if (theirs[4] != mine[4]) {
            return masks(who, mask);
        }
        return new EpMismatchException(who + " calls " + describe(theirs) + ", this rank calls " + describe(mine)
                + "; all ranks must call the operations of a buffer in the same order with the same options");
    }

    private static String describe(long[] words) {
        return kind(words[1]) + " (options 0x" + Long.toHexString(words[2])
                + ((words[2] & FNUZ) == 0 ? "" : ", FP8 rows in FNUZ codes")
                + (words[3] == 0 ? "" : ", routing of dispatch " + words[3]) + ")";
    }

    /** Two heads of low-latency blocks that differ. */
    public static EpMismatchException lowLatency(String who, Mask mask, boolean dispatch, long[] mine, long[] theirs) {
        if (theirs[0] == mine[0] && theirs[1] == mine[1] && theirs[4] == mine[4]) {
            return masks(who, mask);
        }
        String name = dispatch ? "low-latency dispatch" : "low-latency combine";
        return new EpMismatchException(who + " calls " + name + " number " + theirs[0] + " (options 0x"
                + Long.toHexString(theirs[1]) + ", dispatch " + theirs[4] + "), this rank number " + mine[0]
                + " (options 0x" + Long.toHexString(mine[1]) + ", dispatch " + mine[4]
                + "); all ranks must call the operations of a buffer in the same order with the same options");
    }

    private static EpMismatchException masks(String who, Mask mask) {
        return new EpMismatchException(who + " has masked other ranks than this one, which has masked " + mask.toSet()
                + "; mask the same ranks before the same operation, or call recover");
    }
}
