package org.ep4j.cli.gpu;

import java.util.List;
import java.util.Locale;
import org.ep4j.EpArgumentException;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.ExchangeSpec.Mode;

/** An operation that is measured on GPUs, with the rows that it moves. */
public enum GpuOperation {
    /** High-throughput dispatch of BF16 rows with new routing. */
    HT_DISPATCH_BF16("ht.dispatch.bf16", Mode.HT, Rows.BF16, Rows.NONE, false),
    /** The same with the routing of an earlier one. */
    HT_DISPATCH_BF16_CACHED("ht.dispatch.bf16.cached", Mode.HT, Rows.BF16, Rows.NONE, false),
    /** FP8 rows with scales. */
    HT_DISPATCH_FP8("ht.dispatch.fp8", Mode.HT, Rows.FP8, Rows.NONE, false),
    /** The same with the routing of an earlier one. */
    HT_DISPATCH_FP8_CACHED("ht.dispatch.fp8.cached", Mode.HT, Rows.FP8, Rows.NONE, false),
    /** BF16 rows that are delivered by expert: sent once to a rank, and copied there for each of its experts. */
    HT_DISPATCH_BY_EXPERT("ht.dispatch.bf16.by-expert", Mode.HT, Rows.BF16, Rows.NONE, false),
    /** High-throughput combine of rows that lie in {@link org.ep4j.EpBuffer#combineInput()}. */
    HT_COMBINE("ht.combine.bf16", Mode.HT, Rows.NONE, Rows.BF16, false),
    /** The same of rows by expert, one row a selection. */
    HT_COMBINE_BY_EXPERT("ht.combine.bf16.by-expert", Mode.HT, Rows.NONE, Rows.BF16, true),
    /** The same, one row a rank: the sum of its rows of a token. */
    HT_COMBINE_BY_EXPERT_PARTIAL("ht.combine.bf16.by-expert.partial", Mode.HT, Rows.NONE, Rows.BF16, false),
    /** Low-latency dispatch of BF16 rows. */
    LL_DISPATCH_BF16("ll.dispatch.bf16", Mode.LL, Rows.BF16, Rows.NONE, false),
    /** Low-latency dispatch that casts to FP8. */
    LL_DISPATCH_FP8("ll.dispatch.fp8", Mode.LL, Rows.FP8, Rows.NONE, false),
    /** Its sending half, where the request has the receive hook. */
    LL_DISPATCH_SEND("ll.dispatch.fp8.send", Mode.LL, Rows.FP8, Rows.NONE, false),
    /** Its receiving half, when all ranks have sent. */
    LL_DISPATCH_RECEIVE("ll.dispatch.fp8.receive", Mode.LL, Rows.FP8, Rows.NONE, false),
    /** Low-latency dispatch that casts to FP8, with scales that are powers of two. */
    LL_DISPATCH_POW2("ll.dispatch.fp8-pow2", Mode.LL, Rows.FP8, Rows.NONE, false),
    /** The same with these as UE8M0. */
    LL_DISPATCH_UE8M0("ll.dispatch.fp8-ue8m0", Mode.LL, Rows.FP8, Rows.NONE, false),
    /** Low-latency combine, one row a selection. */
    LL_COMBINE("ll.combine.exact", Mode.LL, Rows.NONE, Rows.BF16, true),
    /** Its sending half, where the request has the receive hook. */
    LL_COMBINE_SEND("ll.combine.exact.send", Mode.LL, Rows.NONE, Rows.BF16, true),
    /** Its receiving half, when all ranks have sent. */
    LL_COMBINE_RECEIVE("ll.combine.exact.receive", Mode.LL, Rows.NONE, Rows.BF16, true),
    /** Low-latency combine, one row a rank. */
    LL_COMBINE_PARTIAL("ll.combine.partial", Mode.LL, Rows.NONE, Rows.BF16, false),
    /** Low-latency combine of LogFMT rows, one a selection. */
    LL_COMBINE_LOG_FMT("ll.combine.logfmt", Mode.LL, Rows.NONE, Rows.LOG_FMT, true),
    /** FP8 dispatch and exact combine, one behind the other. */
    LL_BOTH("ll.dispatch-fp8+combine.exact", Mode.LL, Rows.FP8, Rows.BF16, true),
    /** FP8 dispatch and rank-partial combine, one behind the other. */
    LL_BOTH_PARTIAL("ll.dispatch-fp8+combine.partial", Mode.LL, Rows.FP8, Rows.BF16, false);

    /** Type of the rows that move in one direction. */
    enum Rows {
        NONE,
        BF16,
        FP8,
        LOG_FMT;

        /** Bytes of a row, scales included. */
        long bytes(int hidden) {
            long scales = (hidden + 127L) / 128;
            return switch (this) {
                case NONE -> 0;
                case BF16 -> 2L * hidden;
                case FP8 -> hidden + 4 * scales;
                case LOG_FMT -> (10L * hidden + 7) / 8 + 4 * scales;
            };
        }
    }

    private final String text;
    private final Mode mode;

    /** Rows that a dispatch sends, one to each rank that a token goes to. */
    final Rows sent;

    /** Rows that a combine returns. */
    final Rows returned;

    /** True where a combine returns a row for each selection; else it returns one from each rank that a token went to. */
    final boolean bySelection;

    GpuOperation(String text, Mode mode, Rows sent, Rows returned, boolean bySelection) {
        this.text = text;
        this.mode = mode;
        this.sent = sent;
        this.returned = returned;
        this.bySelection = bySelection;
    }

    /** Its name in tables and in the JSON. */
    public String text() {
        return text;
    }

    public Mode mode() {
        return mode;
    }

    /** Order of the rows that a dispatch delivers, or that a combine sends. */
    RowLayout layout() {
        return switch (this) {
            case HT_DISPATCH_BY_EXPERT, HT_COMBINE_BY_EXPERT, HT_COMBINE_BY_EXPERT_PARTIAL -> RowLayout.BY_EXPERT;
            default -> RowLayout.BY_RANK;
        };
    }

    /** Returns whether this is one half of an operation whose request has the receive hook. Its call returns when it is done. */
    boolean isHalf() {
        return switch (this) {
            case LL_DISPATCH_SEND, LL_COMBINE_SEND -> true;
            default -> isReceivingHalf();
        };
    }

    /** Returns whether all ranks' sending kernels have ended before; on posted paths rows may still be in flight. */
    boolean isReceivingHalf() {
        return this == LL_DISPATCH_RECEIVE || this == LL_COMBINE_RECEIVE;
    }

    /**
     * Returns whether the kernels of the ceiling do the same work: none for a half alone, nor for the copies and sums of rows by expert
     * inside a rank.
     */
    boolean hasCeiling() {
        return !isHalf() && this != HT_DISPATCH_BY_EXPERT && this != HT_COMBINE_BY_EXPERT_PARTIAL;
    }

    /**
     * Returns the operations whose names begin with one of {@code names}; all operations if there are no names.
     *
     * @throws EpArgumentException for a name that none begins with
     */
    public static List<GpuOperation> named(List<String> names) {
        List<GpuOperation> all = List.of(values());
        for (String name : names) {
            if (all.stream().noneMatch(o -> o.matches(name))) {
                throw new EpArgumentException(
                        "--ops",
                        name,
                        String.join(", ", all.stream().map(GpuOperation::text).toList()),
                        "name operations, or prefixes of their names");
            }
        }
        return all.stream()
                .filter(o -> names.isEmpty() || names.stream().anyMatch(o::matches))
                .toList();
    }

    private boolean matches(String name) {
        return text.startsWith(name.toLowerCase(Locale.ROOT));
    }
}
