package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.EpMismatchException;

/**
 * Describes announcements that differ between ranks. Their words are, in high throughput, number, kind, options, handle and mask; in
 * low latency number, options, mask, number of messages and handle.
 */
public final class Announcements {
    /** Kinds of high-throughput operations, from 1. */
    private static final String[] KINDS = {"dispatch", "cached dispatch", "combine rows", "combine selections"};

    private static final List<String> DISPATCH_OPTIONS = List.of("FP8 rows", "weights", "FNUZ codes");

    private static final List<String> COMBINE_OPTIONS = List.of("weights");

    /** By {@code LowLatencyFormat.code()}. */
    private static final List<String> FORMATS = List.of("BF16", "FP8", "FP8_POW2", "FP8_UE8M0");

    private static final List<String> LL_COMBINE_OPTIONS = List.of("partial sums", "log format");

    /** Above the format in the options of a low-latency dispatch. */
    private static final int LL_DISPATCH_SHIFT = 8;

    private Announcements() {}

    /** Name of a kind of high-throughput operation. */
    public static String kind(long code) {
        return code >= 1 && code <= KINDS.length ? KINDS[(int) code - 1] : "operation " + code;
    }

    /** Creates the error for two announcements of high throughput that differ. */
    public static EpMismatchException highThroughput(String who, Mask mask, long[] mine, long[] theirs) {
        if (theirs[0] != mine[0]) {
            return new EpMismatchException(who + " is at operation " + theirs[0]
                    + ", but this rank is at operation " + mine[0]
                    + "; call recover on all ranks");
        }
        if (theirs[4] != mine[4]) {
            return masks(who, mask);
        }
        return new EpMismatchException(who + " calls " + describe(theirs) + ", this rank calls " + describe(mine)
                + "; all ranks must call the operations of a buffer in the same order with matching requests");
    }

    private static String describe(long[] words) {
        List<String> details = new ArrayList<>(options(words[1] <= 2 ? DISPATCH_OPTIONS : COMBINE_OPTIONS, words[2]));
        if (words[3] != 0) {
            details.add("routing of dispatch " + words[3]);
        }
        return kind(words[1]) + (details.isEmpty() ? "" : " (" + String.join(", ", details) + ")");
    }

    private static List<String> options(List<String> names, long bits) {
        List<String> set = new ArrayList<>();
        for (int bit = 0; bit < names.size(); bit++) {
            if ((bits >> bit & 1) != 0) {
                set.add(names.get(bit));
            }
        }
        long rest = bits >> names.size();
        if (rest != 0) {
            set.add("options 0x" + Long.toHexString(rest << names.size()));
        }
        return set;
    }

    private static String describeLowLatency(boolean dispatch, long[] words) {
        List<String> details = new ArrayList<>();
        if (dispatch) {
            details.add(FORMATS.get((int) words[1] & 3));
            details.addAll(options(COMBINE_OPTIONS, words[1] >> LL_DISPATCH_SHIFT));
        } else {
            details.add("of dispatch " + words[4]);
            details.addAll(options(LL_COMBINE_OPTIONS, words[1]));
        }
        return "number " + words[0] + " (" + String.join(", ", details) + ")";
    }

    /** Creates the error for two announcements of low latency that differ. */
    public static EpMismatchException lowLatency(String who, Mask mask, boolean dispatch, long[] mine, long[] theirs) {
        if (theirs[0] == mine[0] && theirs[1] == mine[1] && theirs[4] == mine[4]) {
            return masks(who, mask);
        }
        String name = dispatch ? "low-latency dispatch" : "low-latency combine";
        return new EpMismatchException(who + " calls " + name + " " + describeLowLatency(dispatch, theirs)
                + ", this rank calls " + describeLowLatency(dispatch, mine)
                + "; all ranks must call the operations of a buffer in the same order with matching requests");
    }

    private static EpMismatchException masks(String who, Mask mask) {
        return new EpMismatchException(who + " and this rank have masked different ranks (this rank has masked "
                + mask.toSet() + "); mask the same ranks before the same operation, or call recover");
    }
}
