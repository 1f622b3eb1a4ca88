package org.ep4j;

import java.util.Optional;

/**
 * What a high-throughput dispatch sends. {@code x} and {@code out} must start at a multiple of 16 bytes.
 *
 * @param x {@code [T, H]} BF16, or FP8_E4M3 or FP8_E4M3_FNUZ with scales; the same type on all ranks, and the rows
 *     arrive in it: nothing is converted
 * @param scales {@code [T, S]} FP32 where {@code x} is FP8, one for each 128 channels; carried along unchanged
 * @param topkIds {@code [T, K]} INT32 or INT64 expert ids, -1 for none; an id may repeat in a token's list, and every
 *     occurrence is a selection. Empty with a cached handle
 * @param topkWeights {@code [T, K]} FP32, carried along
 * @param cached a handle of this buffer whose routing is used again, without a new exchange of counts
 * @param layout order of the rows
 * @param expertAlignment in rows. By-expert layout: every expert's rows start at a multiple of this. Both layouts:
 *     {@link DispatchResult#tokensPerExpert} is rounded up to it, {@link DispatchResult#rowsPerExpert} is not
 * @param zeroPadding true to zero the padding rows of the by-expert layout
 * @param exactCounts true to size the result by what arrived; false to give worst-case tensors, with counts only in
 *     device memory, so that nothing waits on the host
 * @param out rows are put here, not into the buffer: at least {@code [rows, H]} of x's type. One that turns out too small
 *     for what arrived gives an {@link EpOverflowException} on this rank alone, after the exchange, which holds up nobody
 * @param options how it runs
 */
public record DispatchRequest(
        Tensor x,
        Optional<Tensor> scales,
        Optional<Tensor> topkIds,
        Optional<Tensor> topkWeights,
        Optional<DispatchHandle> cached,
        RowLayout layout,
        int expertAlignment,
        boolean zeroPadding,
        boolean exactCounts,
        Optional<Tensor> out,
        OpOptions options) {
    /**
     * Checks that either {@code topkIds} or {@code cached} gives the routing, and that layout and alignment are
     * allowed.
     */
    public DispatchRequest {
        if (topkIds.isPresent() == cached.isPresent()) {
            throw new EpArgumentException(
                    "routing",
                    topkIds.isPresent() ? "top-k ids and a cached handle" : "nothing",
                    "either top-k ids or a cached handle",
                    "pass topkIds for new routing, or a handle to use its routing again");
        }
        if (cached.isPresent() && cached.get().layout() != layout) {
            throw new EpArgumentException(
                    "layout",
                    layout,
                    cached.get().layout() + " of the cached handle",
                    "omit the layout, or pass topkIds to use another layout");
        }
        if (expertAlignment < 1 || expertAlignment > EpShape.MAX_EXPERT_ALIGNMENT) {
            throw new EpArgumentException(
                    "expertAlignment",
                    expertAlignment,
                    "in [1, " + EpShape.MAX_EXPERT_ALIGNMENT + "]",
                    "1 means no padding");
        }
    }

    /** Starts a request with new routing. */
    public static Builder of(Tensor x, Tensor topkIds) {
        return new Builder(x, Optional.of(topkIds), Optional.empty());
    }

    /** Starts a request that reuses the routing and the row layout of an earlier dispatch. */
    public static Builder cached(Tensor x, DispatchHandle handle) {
        return new Builder(x, Optional.empty(), Optional.of(handle)).layout(handle.layout());
    }

    /** Collects the options of a request. */
    public static final class Builder {
        private final Tensor x;
        private final Optional<Tensor> topkIds;
        private final Optional<DispatchHandle> cached;
        private Optional<Tensor> scales = Optional.empty();
        private Optional<Tensor> topkWeights = Optional.empty();
        private RowLayout layout = RowLayout.BY_RANK;
        private int expertAlignment = 1;
        private boolean zeroPadding;
        private boolean exactCounts = true;
        private Optional<Tensor> out = Optional.empty();
        private OpOptions options = OpOptions.DEFAULT;

        private Builder(Tensor x, Optional<Tensor> topkIds, Optional<DispatchHandle> cached) {
            this.x = x;
            this.topkIds = topkIds;
            this.cached = cached;
        }

        /** Sets the scales of the FP8 rows to send. */
        public Builder scales(Tensor tensor) {
            this.scales = Optional.of(tensor);
            return this;
        }

        /** Sets the top-k weights, which travel with the rows. */
        public Builder topkWeights(Tensor tensor) {
            this.topkWeights = Optional.of(tensor);
            return this;
        }

        /** Sets the order in which the received rows are delivered. */
        public Builder layout(RowLayout order) {
            this.layout = order;
            return this;
        }

        /** Sets the alignment, in rows, of each expert's group of received rows. */
        public Builder expertAlignment(int rows) {
            this.expertAlignment = rows;
            return this;
        }

        /** Requests that the padding rows of the by-expert layout are filled with zeros. */
        public Builder zeroPadding() {
            this.zeroPadding = true;
            return this;
        }

        /** Requests tensors of worst-case size, so that the host does not wait for counts. */
        public Builder worstCase() {
            this.exactCounts = false;
            return this;
        }

        /** Sets the tensor that receives the rows. */
        public Builder out(Tensor tensor) {
            this.out = Optional.of(tensor);
            return this;
        }

        /** Sets how the operation runs. */
        public Builder options(OpOptions how) {
            this.options = how;
            return this;
        }

        /** The finished request. */
        public DispatchRequest build() {
            return new DispatchRequest(
                    x,
                    scales,
                    topkIds,
                    topkWeights,
                    cached,
                    layout,
                    expertAlignment,
                    zeroPadding,
                    exactCounts,
                    out,
                    options);
        }
    }
}
