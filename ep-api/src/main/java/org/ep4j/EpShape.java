package org.ep4j;

import java.util.Optional;

/**
 * Sizes of an {@link EpBuffer}, equal on all ranks.
 *
 * @param hidden H, elements of a row; a multiple of 16
 * @param experts E, over all ranks
 * @param topK K, selections of a token, 1 to 32; it may exceed the number of experts, the rest of the ids is -1 then
 * @param maxTokens most tokens that a rank may pass to a high-throughput dispatch; 0 leaves that mode out
 * @param maxReceivedTokens most tokens that a rank may receive in a high-throughput dispatch, each counted once however
 *     many of its experts the rank holds; 0, the default, means ranks * maxTokens, which cannot overflow, and so does
 *     any larger value. Ignored when {@code maxTokens} is 0
 * @param maxLowLatencyTokens most tokens that a rank may pass to a low-latency dispatch; 0 leaves that mode out
 * @param placement which rank holds which expert; empty for {@link ExpertPlacement#block}
 */
public record EpShape(
        int hidden,
        int experts,
        int topK,
        int maxTokens,
        long maxReceivedTokens,
        int maxLowLatencyTokens,
        Optional<ExpertPlacement> placement) {
    /** Channels that share one scale in FP8 and LogFMT rows. */
    public static final int SCALE_BLOCK = 128;

    /** Largest K, the number of experts that a token selects. */
    public static final int MAX_TOP_K = 32;

    /** Largest alignment of an expert's rows in the by-expert layout. */
    public static final int MAX_EXPERT_ALIGNMENT = 128;

    /** Largest hidden size, far above any model's; it keeps row sizes inside 32-bit arithmetic. */
    public static final int MAX_HIDDEN = 1 << 20;

    /** Largest number of tokens per rank. */
    public static final int MAX_TOKENS = 1 << 24;

    /** Largest number of experts. */
    public static final int MAX_EXPERTS = 1 << 20;

    /** Checks every size. */
    public EpShape {
        require("hidden", hidden, 16, MAX_HIDDEN);
        if (hidden % 16 != 0) {
            throw new EpArgumentException("hidden", hidden, "a multiple of 16", "pad the rows");
        }
        require("experts", experts, 1, MAX_EXPERTS);
        require("topK", topK, 1, MAX_TOP_K);
        require("maxTokens", maxTokens, 0, MAX_TOKENS);
        require("maxLowLatencyTokens", maxLowLatencyTokens, 0, MAX_TOKENS);
        if (maxTokens == 0 && maxLowLatencyTokens == 0) {
            throw new EpArgumentException(
                    "maxTokens", 0, ">= 1 if maxLowLatencyTokens is 0", "set maxTokens, maxLowLatencyTokens or both");
        }
        if (maxReceivedTokens < 0) {
            throw new EpArgumentException("maxReceivedTokens", maxReceivedTokens, ">= 0", "0 means ranks * maxTokens");
        }
        int experts0 = experts;
        placement.ifPresent(p -> {
            if (p.experts() != experts0) {
                throw new EpArgumentException(
                        "placement",
                        p.experts() + " experts",
                        experts0 + " experts",
                        "place every expert of the shape");
            }
        });
    }

    private static void require(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new EpArgumentException(name, value, "in [" + min + ", " + max + "]", "correct the shape");
        }
    }

    /**
     * Starts a shape that supports no mode yet: {@link Builder#maxTokens(int)} adds high throughput, and {@link
     * Builder#maxLowLatencyTokens(int)} adds low latency.
     */
    public static Builder builder(int hidden, int experts, int topK) {
        return new Builder(hidden, experts, topK);
    }

    /** S, scales of an FP8 row: {@code ceil(hidden / 128)}. */
    public int scales() {
        return (hidden + SCALE_BLOCK - 1) / SCALE_BLOCK;
    }

    /**
     * Assignment of experts to ranks in a group of {@code ranks} ranks.
     *
     * @throws EpArgumentException when a placement was given for another number of ranks
     */
    public ExpertPlacement placementFor(int ranks) {
        ExpertPlacement used = placement.orElseGet(() -> ExpertPlacement.block(experts, ranks));
        if (used.ranks() != ranks) {
            throw new EpArgumentException(
                    "placement", used.ranks() + " ranks", ranks + " ranks", "build the placement for the group's size");
        }
        return used;
    }

    /**
     * Tokens that a rank can receive in a high-throughput dispatch in a group of {@code ranks} ranks: the most rows
     * in the by-rank layout. The by-expert layout has up to {@code receiveCapacity * topK + localExperts *
     * (expertAlignment - 1)} rows.
     */
    public long receiveCapacity(int ranks) {
        long worst = (long) ranks * maxTokens;
        return maxReceivedTokens == 0 ? worst : Math.min(worst, maxReceivedTokens);
    }

    /**
     * Rows of one expert in the low-latency output in a group of {@code ranks} ranks: {@code ranks *
     * maxLowLatencyTokens}.
     */
    public long lowLatencyRows(int ranks) {
        return (long) ranks * maxLowLatencyTokens;
    }

    /** Collects the sizes of a shape. */
    public static final class Builder {
        private final int hidden;
        private final int experts;
        private final int topK;
        private int maxTokens;
        private long maxReceivedTokens;
        private int maxLowLatencyTokens;
        private Optional<ExpertPlacement> placement = Optional.empty();

        private Builder(int hidden, int experts, int topK) {
            this.hidden = hidden;
            this.experts = experts;
            this.topK = topK;
        }

        /** Allows high-throughput dispatches of up to {@code tokens} tokens per rank. */
        public Builder maxTokens(int tokens) {
            this.maxTokens = tokens;
            return this;
        }

        /** Limits the tokens that a rank can receive, to save memory; see {@link EpOverflowException}. */
        public Builder maxReceivedTokens(long tokens) {
            this.maxReceivedTokens = tokens;
            return this;
        }

        /** Allows low-latency dispatches of up to {@code tokens} tokens per rank. */
        public Builder maxLowLatencyTokens(int tokens) {
            this.maxLowLatencyTokens = tokens;
            return this;
        }

        /** Sets the placement of the experts; without it, {@link ExpertPlacement#block} is used. */
        public Builder placement(ExpertPlacement map) {
            this.placement = Optional.of(map);
            return this;
        }

        /** The finished shape. */
        public EpShape build() {
            return new EpShape(hidden, experts, topK, maxTokens, maxReceivedTokens, maxLowLatencyTokens, placement);
        }
    }
}
