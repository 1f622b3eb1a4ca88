package org.ep4j;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import org.apiguardian.api.API;

/** Sizes of an {@link EpBuffer}, equal on all ranks. Immutable. */
public sealed interface EpShape {
    /** Channels that share one scale in FP8 and LogFMT rows. */
    int SCALE_BLOCK = 128;

    /** Largest K, the number of experts that a token selects. */
    int MAX_TOP_K = 32;

    /** Largest alignment of an expert's rows in the by-expert layout. */
    int MAX_EXPERT_ALIGNMENT = 128;

    /** Largest hidden size, far above any model's; it keeps row sizes inside 32-bit arithmetic. */
    int MAX_HIDDEN = 1 << 20;

    /** Largest number of tokens per rank. */
    int MAX_TOKENS = 1 << 24;

    /** Largest number of experts. */
    int MAX_EXPERTS = 1 << 20;

    /**
     * Starts a shape that supports no mode yet: {@link Builder#maxTokens(int)} adds high throughput, and {@link
     * Builder#maxLowLatencyTokens(int)} adds low latency.
     *
     * @param hidden H, elements of a row; a multiple of 16
     * @param experts E, over all ranks
     * @param topK K, selections of a token, 1 to 32; it may exceed the number of experts, the rest of the ids is -1 then
     */
    static Builder builder(int hidden, int experts, int topK) {
        return new Builder(hidden, experts, topK);
    }

    /** Starts a shape that differs from this one in what is set next. */
    default Builder toBuilder() {
        Builder copy = new Builder(hidden(), experts(), topK());
        copy.maxTokens = maxTokens();
        copy.maxReceivedRows = maxReceivedRows();
        copy.maxLowLatencyTokens = maxLowLatencyTokens();
        copy.placement = placement();
        copy.layouts = layouts();
        copy.preallocated = preallocated();
        return copy;
    }

    /** H, elements of a row. */
    int hidden();

    /** E, experts of all ranks. */
    int experts();

    /** K, selections of a token. */
    int topK();

    /** S, scales of an FP8 row: {@code ceil(hidden / 128)}. */
    default int scales() {
        return (hidden() + SCALE_BLOCK - 1) / SCALE_BLOCK;
    }

    /** Most tokens that a rank may pass to a high-throughput dispatch; 0 without that mode. */
    int maxTokens();

    /** Most rows of the by-rank layout that a rank may receive; 0 for the worst case. See {@link Builder#maxReceivedRows}. */
    long maxReceivedRows();

    /** Most tokens that a rank may pass to a low-latency dispatch; 0 without that mode. */
    int maxLowLatencyTokens();

    /** Which rank holds which expert; empty for {@link ExpertPlacement#block}. {@link EpBuffer#placement} has it in any case. */
    Optional<ExpertPlacement> placement();

    /** Layouts in which high-throughput dispatches may deliver rows; all of them by default. See {@link Builder#layouts}. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    Set<RowLayout> layouts();

    /** Returns whether local memory is taken when the buffer is created. See {@link Builder#preallocate}. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    boolean preallocated();

    /** Collects the sizes of a shape. */
    final class Builder {
        private final int hidden;
        private final int experts;
        private final int topK;
        private int maxTokens;
        private long maxReceivedRows;
        private int maxLowLatencyTokens;
        private Optional<ExpertPlacement> placement = Optional.empty();
        private Set<RowLayout> layouts = Collections.unmodifiableSet(EnumSet.allOf(RowLayout.class));
        private boolean preallocated;

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

        /**
         * Limits the rows that a rank can receive in a high-throughput dispatch, to save memory; see {@link EpOverflowException}.
         * They are counted as in the by-rank layout: a token counts once, however many of its experts the rank holds. 0, which
         * is the default, means ranks * maxTokens, which cannot overflow, and so does any larger value. Without meaning when
         * {@code maxTokens} is 0.
         */
        public Builder maxReceivedRows(long rows) {
            this.maxReceivedRows = rows;
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

        /**
         * Limits high-throughput dispatches to the given layouts, to save memory: without {@link RowLayout#BY_EXPERT} a buffer has no
         * memory for R * maxTokens * K rows. Dispatches with another layout are refused before anything is sent. Without
         * meaning when {@code maxTokens} is 0.
         */
        @API(status = API.Status.EXPERIMENTAL, since = "0.1")
        public Builder layouts(RowLayout first, RowLayout... others) {
            this.layouts = Collections.unmodifiableSet(EnumSet.of(first, others));
            return this;
        }

        /**
         * Takes all local memory of the buffer when it is created. By default each part of it is taken when an operation needs it
         * first, and that operation fails with {@link EpResourceException} if the memory is short, on this rank alone: the
         * other ranks wait for it until they time out. With this option only the creation can fail for lack of
         * memory, on all ranks, and the first operations take no longer than later ones. {@link BufferSize#parts} has the sizes.
         */
        @API(status = API.Status.EXPERIMENTAL, since = "0.1")
        public Builder preallocate() {
            this.preallocated = true;
            return this;
        }

        /**
         * Builds the shape.
         *
         * @throws EpArgumentException naming the size that is out of its range
         */
        public EpShape build() {
            return new EpShapeValue(
                    hidden,
                    experts,
                    topK,
                    maxTokens,
                    maxReceivedRows,
                    maxLowLatencyTokens,
                    placement,
                    layouts,
                    preallocated);
        }
    }
}

record EpShapeValue(
        int hidden,
        int experts,
        int topK,
        int maxTokens,
        long maxReceivedRows,
        int maxLowLatencyTokens,
        Optional<ExpertPlacement> placement,
        Set<RowLayout> layouts,
        boolean preallocated)
        implements EpShape {
    EpShapeValue {
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
        if (maxReceivedRows < 0) {
            throw new EpArgumentException("maxReceivedRows", maxReceivedRows, ">= 0", "0 means ranks * maxTokens");
        }
        placement.ifPresent(p -> {
            if (p.experts() != experts) {
                throw new EpArgumentException(
                        "placement", p.experts() + " experts", experts + " experts", "place every expert of the shape");
            }
        });
    }

    private static void require(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new EpArgumentException(name, value, "in [" + min + ", " + max + "]", "correct the shape");
        }
    }

    @Override
    public String toString() {
        return "EpShape[hidden=" + hidden + ", experts=" + experts + ", topK=" + topK + ", maxTokens=" + maxTokens
                + ", maxReceivedRows=" + maxReceivedRows + ", maxLowLatencyTokens=" + maxLowLatencyTokens
                + ", placement=" + placement + ", layouts=" + layouts + ", preallocated=" + preallocated + "]";
    }
}
