package org.ep4j.plan.forecast;

import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;

/**
 * An exchange whose time is forecast: what every rank sends, and how.
 *
 * @param mode high throughput or low latency
 * @param tokens tokens of each rank
 * @param experts experts over all ranks
 * @param topK experts of a token, all different
 * @param dispatchRow bytes of a token on its way to the experts
 * @param combineRow bytes of a row on its way back
 * @param dispatchMessages what one message of a dispatch is
 * @param combineMessages what one message of a combine is
 * @param groups groups of experts of which a token first chooses some, as DeepSeek-V3 does; 1 for none
 * @param topGroups groups that it chooses; ignored when there is one
 */
public record Exchange(
        Mode mode,
        int tokens,
        int experts,
        int topK,
        long dispatchRow,
        long combineRow,
        Messages dispatchMessages,
        Messages combineMessages,
        int groups,
        int topGroups) {
    /** The modes of a buffer: high throughput and low latency. */
    public enum Mode {
        /** Training and prefill. Between domains of mapped memory a token goes once to a domain, and on from there. */
        HIGH_THROUGHPUT,
        /** Decode: every message goes straight to its rank. */
        LOW_LATENCY
    }

    /** Number of messages that carry a token. */
    public enum Messages {
        /** Once to every rank that holds one of its experts. */
        PER_RANK,
        /** Once for every expert. */
        PER_SELECTION
    }

    public Exchange {
        at("tokens", tokens, 0);
        at("experts", experts, 1);
        at("topK", topK, 1);
        at("groups", groups, 1);
        if (topK > experts) {
            throw new EpArgumentException("topK", topK, "at most the " + experts + " experts", "choose fewer");
        }
        if (groups > 1 && (topGroups < 1 || topGroups > groups || (long) topGroups * (experts / groups) < topK)) {
            throw new EpArgumentException(
                    "topGroups",
                    topGroups,
                    "1 to " + groups + ", and enough to contain " + topK + " experts",
                    "choose more groups, or fewer experts per token");
        }
    }

    private static void at(String name, int value, int least) {
        if (value < least) {
            throw new EpArgumentException(name, value, "at least " + least, "correct the exchange");
        }
    }

    /**
     * The exchange that ep4j makes: BF16 or FP8 rows out, BF16 rows back. An FP8 row takes one byte for each of its
     * values, and 4 for the scale of each 128 values. Low latency sends one message to each rank and gets back one row for
     * each expert.
     *
     * @param shape hidden size, experts and top-k
     * @param fp8 whether dispatched rows are FP8
     */
    public static Exchange of(EpShape shape, Mode mode, int tokens, boolean fp8) {
        long bf16 = 2L * shape.hidden();
        return new Exchange(
                mode,
                tokens,
                shape.experts(),
                shape.topK(),
                fp8 ? shape.hidden() + 4L * shape.scales() : bf16,
                bf16,
                Messages.PER_RANK,
                mode == Mode.LOW_LATENCY ? Messages.PER_SELECTION : Messages.PER_RANK,
                1,
                1);
    }

    /**
     * Returns a copy with group-limited routing: a token selects experts from only {@code chosen} of {@code number}
     * groups.
     */
    public Exchange grouped(int number, int chosen) {
        return new Exchange(
                mode,
                tokens,
                experts,
                topK,
                dispatchRow,
                combineRow,
                dispatchMessages,
                combineMessages,
                number,
                chosen);
    }
}
