package org.ep4j;

import java.util.Optional;

/**
 * Request of a high-throughput dispatch. Immutable: build it once and use it again. {@code x}, {@code out} and {@code
 * outScales} must start at a multiple of 16 bytes, other tensors at a multiple of their elements' size.
 *
 * <p>The tensors of the result lie in the buffer, except for those that the request gives with {@code out} and the like. Nothing
 * but the caller writes to these after the dispatch. One with too few rows for what arrived gives an {@link
 * EpOverflowException}, see {@link Builder#out}.
 */
public sealed interface DispatchRequest {
    /**
     * Starts a request with new routing.
     *
     * @param x {@code [T, H]} BF16, or FP8_E4M3 or FP8_E4M3_FNUZ with scales; the same type on all ranks, and the rows
     *     arrive in it: nothing is converted
     * @param topkIds {@code [T, K]} INT32 or INT64 expert ids, -1 for none; an id may repeat in a token's list, and
     *     every occurrence is a selection
     */
    static Builder builder(Tensor x, Tensor topkIds) {
        return new Builder(x, Optional.of(topkIds), Optional.empty(), RowLayout.BY_RANK);
    }

    /**
     * Starts a request that uses the routing, the row layout and the expert alignment of an earlier dispatch again, without
     * a new exchange of counts.
     *
     * @param x as many rows as that dispatch had, of any type that a dispatch takes
     * @param routing a handle of the same buffer
     */
    static Builder builder(Tensor x, DispatchHandle routing) {
        return new Builder(x, Optional.empty(), Optional.of(routing), routing.layout());
    }

    /** Rows to send, {@code [T, H]}. */
    Tensor x();

    /** Expert ids, {@code [T, K]}; empty with the routing of an earlier dispatch. */
    Optional<Tensor> topkIds();

    /** Handle whose routing is used again; empty with new routing. */
    Optional<DispatchHandle> routing();

    /** Scales of FP8 rows, {@code [T, S]} FP32. */
    Optional<Tensor> scales();

    /** Top-k weights, {@code [T, K]} FP32. */
    Optional<Tensor> topkWeights();

    /** Tensor that receives the rows; empty for memory of the buffer. */
    Optional<Tensor> out();

    /** Tensor that receives the scales of FP8 rows; empty for memory of the buffer. */
    Optional<Tensor> outScales();

    /** Tensor that receives the local expert indices; empty for memory of the buffer. */
    Optional<Tensor> outTopkIds();

    /** Tensor that receives the top-k weights of the rows; empty for memory of the buffer. */
    Optional<Tensor> outTopkWeights();

    /** Tensor that receives the source rank of each row; empty for memory of the buffer. */
    Optional<Tensor> outSourceRanks();

    /** Tensor that receives the token of each row; empty for memory of the buffer. */
    Optional<Tensor> outSourceTokens();

    /** Tensor that receives the number of rows from each rank; empty for memory of the buffer. */
    Optional<Tensor> outRowsPerSource();

    /** Tensor that receives the selections of each local expert; empty for memory of the buffer. */
    Optional<Tensor> outRowsPerExpert();

    /** Tensor that receives the first row of each local expert; empty for memory of the buffer. */
    Optional<Tensor> outExpertOffsets();

    /** Tensor to which the received selections of each local expert are added. */
    Optional<Tensor> expertStats();

    /** Tensor to which the time waited for each rank is added. */
    Optional<Tensor> waitStats();

    /** Order of the received rows. */
    RowLayout layout();

    /** Alignment of an expert's rows, in rows. Without meaning with the routing of an earlier dispatch, which has its own. */
    int expertAlignment();

    /** Returns true if the padding rows of the by-expert layout are zeroed. */
    boolean zeroPadding();

    /** Returns true if the result has worst-case tensors, false if it is sized by what arrived. */
    boolean worstCase();

    /** Collects the options of a request. */
    final class Builder {
        private final Tensor x;
        private final Optional<Tensor> topkIds;
        private final Optional<DispatchHandle> routing;
        private Optional<Tensor> scales = Optional.empty();
        private Optional<Tensor> topkWeights = Optional.empty();
        private Optional<Tensor> out = Optional.empty();
        private Optional<Tensor> outScales = Optional.empty();
        private Optional<Tensor> outTopkIds = Optional.empty();
        private Optional<Tensor> outTopkWeights = Optional.empty();
        private Optional<Tensor> outSourceRanks = Optional.empty();
        private Optional<Tensor> outSourceTokens = Optional.empty();
        private Optional<Tensor> outRowsPerSource = Optional.empty();
        private Optional<Tensor> outRowsPerExpert = Optional.empty();
        private Optional<Tensor> outExpertOffsets = Optional.empty();
        private Optional<Tensor> expertStats = Optional.empty();
        private Optional<Tensor> waitStats = Optional.empty();
        private RowLayout layout;
        private int expertAlignment = 1;
        private boolean zeroPadding;
        private boolean worstCase;

        private Builder(Tensor x, Optional<Tensor> topkIds, Optional<DispatchHandle> routing, RowLayout layout) {
            this.x = x;
            this.topkIds = topkIds;
            this.routing = routing;
            this.layout = layout;
        }

        /** Sets the scales of FP8 rows, {@code [T, S]} FP32, one for each 128 channels; they are carried along unchanged. */
        public Builder scales(Tensor tensor) {
            this.scales = Optional.of(tensor);
            return this;
        }

        /** Sets the top-k weights, {@code [T, K]} FP32, which travel with the rows. */
        public Builder topkWeights(Tensor tensor) {
            this.topkWeights = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor that receives the rows instead of the buffer: at least {@code [rows, H]} of the type of {@code x},
         * see {@link EpBuffer#maxRows}. One that turns out too small for what arrived gives an {@link
         * EpOverflowException} on this rank alone, after the exchange, which holds up nobody.
         */
        public Builder out(Tensor tensor) {
            this.out = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor that receives the scales of FP8 rows instead of the buffer: at least {@code [rows, S]} FP32, with as
         * many rows as {@link #out} needs. It must start at a multiple of 16 bytes.
         */
        public Builder outScales(Tensor tensor) {
            this.outScales = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor that receives the local expert indices instead of the buffer: at least {@code [rows, K]} of the type
         * of the expert ids that were sent with the routing. Only in the by-rank layout.
         */
        public Builder outTopkIds(Tensor tensor) {
            this.outTopkIds = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor that receives the top-k weights instead of the buffer: at least {@code [rows, K]} FP32 in the by-rank
         * layout, {@code [rows]} in the by-expert layout. Only with {@link #topkWeights}.
         */
        public Builder outTopkWeights(Tensor tensor) {
            this.outTopkWeights = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor that receives the source rank of each row instead of the buffer: at least {@code [rows]} INT32. */
        public Builder outSourceRanks(Tensor tensor) {
            this.outSourceRanks = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor that receives the index of each row's token on its source rank instead of the buffer: at least {@code
         * [rows]} INT32.
         */
        public Builder outSourceTokens(Tensor tensor) {
            this.outSourceTokens = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor that receives the number of rows from each rank instead of the buffer: {@code [R]} INT32. */
        public Builder outRowsPerSource(Tensor tensor) {
            this.outRowsPerSource = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor that receives the selections of each local expert instead of the buffer: {@code [L]} INT32. */
        public Builder outRowsPerExpert(Tensor tensor) {
            this.outRowsPerExpert = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor that receives the first row of each local expert instead of the buffer: {@code [L + 1]} INT64. */
        public Builder outExpertOffsets(Tensor tensor) {
            this.outExpertOffsets = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor to which the received selections of each local expert are added, {@code [L]} INT32. */
        public Builder expertStats(Tensor tensor) {
            this.expertStats = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor to which the nanoseconds waited for each rank are added, {@code [R]} INT64: for its counts, and for
         * its rows.
         */
        public Builder waitStats(Tensor tensor) {
            this.waitStats = Optional.of(tensor);
            return this;
        }

        /** Sets the order in which the received rows are delivered; {@link RowLayout#BY_RANK} is the default. */
        public Builder layout(RowLayout order) {
            this.layout = order;
            return this;
        }

        /**
         * Sets the alignment of an expert's rows, in rows, 1 to {@link EpShape#MAX_EXPERT_ALIGNMENT}. By-expert layout: every
         * expert's rows start at a multiple of it. Both layouts: {@link DispatchResult#hostRowsPerExpert} is rounded up to
         * it, {@link DispatchResult#rowsPerExpert} is not. The routing of an earlier dispatch has its own.
         */
        public Builder expertAlignment(int rows) {
            this.expertAlignment = rows;
            return this;
        }

        /** Requests that the padding rows of the by-expert layout are filled with zeros. */
        public Builder zeroPadding() {
            this.zeroPadding = true;
            return this;
        }

        /**
         * Requests tensors of worst-case size, with counts only in device memory, so that nothing waits on the host. Without it
         * the result is sized by what arrived.
         */
        public Builder worstCase() {
            this.worstCase = true;
            return this;
        }

        /**
         * Builds the request.
         *
         * @throws EpArgumentException when the alignment is out of range, or the layout differs from the handle's
         */
        public DispatchRequest build() {
            if (routing.isPresent() && routing.get().layout() != layout) {
                throw new EpArgumentException(
                        "layout",
                        layout,
                        routing.get().layout() + " of the handle",
                        "omit the layout, or pass topkIds to use another layout");
            }
            if (expertAlignment < 1 || expertAlignment > EpShape.MAX_EXPERT_ALIGNMENT) {
                throw new EpArgumentException(
                        "expertAlignment",
                        expertAlignment,
                        "in [1, " + EpShape.MAX_EXPERT_ALIGNMENT + "]",
                        "1 means no padding");
            }
            return new DispatchRequestValue(
                    x,
                    topkIds,
                    routing,
                    scales,
                    topkWeights,
                    out,
                    outScales,
                    outTopkIds,
                    outTopkWeights,
                    outSourceRanks,
                    outSourceTokens,
                    outRowsPerSource,
                    outRowsPerExpert,
                    outExpertOffsets,
                    expertStats,
                    waitStats,
                    layout,
                    expertAlignment,
                    zeroPadding,
                    worstCase);
        }
    }
}

record DispatchRequestValue(
        Tensor x,
        Optional<Tensor> topkIds,
        Optional<DispatchHandle> routing,
        Optional<Tensor> scales,
        Optional<Tensor> topkWeights,
        Optional<Tensor> out,
        Optional<Tensor> outScales,
        Optional<Tensor> outTopkIds,
        Optional<Tensor> outTopkWeights,
        Optional<Tensor> outSourceRanks,
        Optional<Tensor> outSourceTokens,
        Optional<Tensor> outRowsPerSource,
        Optional<Tensor> outRowsPerExpert,
        Optional<Tensor> outExpertOffsets,
        Optional<Tensor> expertStats,
        Optional<Tensor> waitStats,
        RowLayout layout,
        int expertAlignment,
        boolean zeroPadding,
        boolean worstCase)
        implements DispatchRequest {
    @Override
    public String toString() {
        return "DispatchRequest[x=" + x + ", topkIds=" + topkIds + ", routing=" + routing + ", scales=" + scales
                + ", topkWeights=" + topkWeights + ", out=" + out + ", outScales=" + outScales + ", outTopkIds="
                + outTopkIds + ", outTopkWeights=" + outTopkWeights + ", outSourceRanks=" + outSourceRanks
                + ", outSourceTokens=" + outSourceTokens + ", outRowsPerSource=" + outRowsPerSource
                + ", outRowsPerExpert=" + outRowsPerExpert + ", outExpertOffsets=" + outExpertOffsets
                + ", expertStats=" + expertStats + ", waitStats=" + waitStats + ", layout=" + layout
                + ", expertAlignment=" + expertAlignment + ", zeroPadding=" + zeroPadding + ", worstCase="
                + worstCase + "]";
    }
}
