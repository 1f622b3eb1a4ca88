package org.ep4j.engine.sync;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.EpMismatchException;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;
import org.ep4j.Tensor;

/**
 * What ranks tell each other about an operation: the words at the head of a block, in high throughput number, kind, options,
 * handle and mask; in low latency number, options, mask, number of messages and handle.
 */
public final class OperationNames {
    /** Kinds of high-throughput operations, from 1. */
    private static final String[] KINDS = {"dispatch", "cached dispatch", "combine rows", "combine selections"};

    /** Kinds from here on are combines. */
    private static final int COMBINES = 3;

    private static final long FP8 = 1;
    private static final long FNUZ = 4;
    private static final long UE8M0 = 16;
    private static final long E5M2 = 32;

    private static final List<Option> DISPATCH_OPTIONS = List.of(
            new Option(FP8, "FP8 rows"),
            new Option(2, "weights"),
            new Option(FNUZ, "FP8 rows in FNUZ codes"),
            new Option(8, "rows dropped where there is no room"),
            new Option(UE8M0, "UE8M0 scales"),
            new Option(E5M2, "FP8 rows in E5M2 codes"));
    private static final List<Option> COMBINE_OPTIONS = List.of(new Option(1, "weights"));
    private static final List<Option> LOW_LATENCY_COMBINE_OPTIONS =
            List.of(new Option(1, "rank-partial"), new Option(2, "LogFMT"));

    /** Bits of the options of a low-latency dispatch that are its format, and the one behind them. */
    private static final int FORMAT_BITS = 8;

    /** Word of a high-throughput block: what the operation is. */
    public static final int KIND = 1;

    private static final int FIRST_COMBINE = 3;

    /** A bit of the options of an operation. */
    private record Option(long bit, String name) {}

    private OperationNames() {}

    /** Options of a high-throughput dispatch that say of which type its rows are, and their scales. */
    public static long rows(DataType type, Optional<Tensor> scales) {
        long packed = scales.filter(s -> s.type() == DataType.UE8M0).isPresent() ? UE8M0 : 0;
        return switch (type) {
            case FP8_E4M3 -> FP8 | packed;
            case FP8_E4M3_FNUZ -> FP8 | FNUZ | packed;
            case FP8_E5M2 -> FP8 | E5M2 | packed;
            case FP8_E5M2_FNUZ -> FP8 | E5M2 | FNUZ | packed;
            case BF16, FP32, UE8M0, INT32, INT64 -> 0;
        };
    }

    /** True for a kind of high-throughput operation that brings rows back. */
    static boolean isCombine(long code) {
        return code >= FIRST_COMBINE;
    }

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
        return kind(words[1]) + " (" + options(words[2], words[1] < COMBINES ? DISPATCH_OPTIONS : COMBINE_OPTIONS)
                + (words[3] == 0 ? "" : ", routing of dispatch " + words[3]) + ")";
    }

    private static String options(long bits, List<Option> options) {
        List<String> set = new ArrayList<>();
        for (Option option : options) {
            if ((bits & option.bit()) != 0) {
                set.add(option.name());
            }
        }
        return set.isEmpty() ? "no options" : String.join(", ", set);
    }

    private static String lowLatencyOptions(boolean dispatch, long bits) {
        if (!dispatch) {
            return options(bits, LOW_LATENCY_COMBINE_OPTIONS);
        }
        long format = bits & ((1 << FORMAT_BITS) - 1);
        WireFormat[] formats = WireFormat.values();
        return (format < formats.length ? formats[(int) format] : "format " + format)
                + ((bits >> FORMAT_BITS & 1) == 0 ? "" : ", weights");
    }

    /** Two heads of low-latency blocks that differ. */
    public static EpMismatchException lowLatency(String who, Mask mask, boolean dispatch, long[] mine, long[] theirs) {
        if (theirs[0] == mine[0] && theirs[1] == mine[1] && theirs[4] == mine[4]) {
            return masks(who, mask);
        }
        String name = dispatch ? "low-latency dispatch" : "low-latency combine";
        return new EpMismatchException(who + " calls " + name + " number " + theirs[0] + " ("
                + lowLatencyOptions(dispatch, theirs[1]) + ", dispatch " + theirs[4] + "), this rank number " + mine[0]
                + " (" + lowLatencyOptions(dispatch, mine[1]) + ", dispatch " + mine[4]
                + "); all ranks must call the operations of a buffer in the same order with the same options");
    }

    /** A rank that has masked others than this one. */
    static EpMismatchException masks(String who, Mask mask) {
        return new EpMismatchException(who + " has masked other ranks than this one, which has masked " + mask.toSet()
                + "; mask the same ranks before the same operation, or call recover");
    }
}
