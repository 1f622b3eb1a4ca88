package org.ep4j;

import java.util.Optional;

/**
 * Request of a low-latency combine: {@code out[t] = sum over k of weight[t][k] * row of selection k}, computed in
 * FP32 by fused multiply-adds from 0 in top-k order, then rounded to BF16 once. Immutable: build it once and use it
 * again. {@code x} and {@code out} must start at a multiple of 16 bytes.
 */
public sealed interface LowLatencyCombineRequest {
    /**
     * Starts a request that sends rows back along the routes of a dispatch.
     *
     * @param x {@code [L, R * maxLowLatencyTokens, H]} BF16, rows where the dispatch put them
     * @param handle routing of the dispatch
     */
    static Builder builder(Tensor x, LowLatencyHandle handle) {
        return new Builder(x, handle);
    }

    /** Rows to send back, {@code [L, R * maxLowLatencyTokens, H]} BF16. */
    Tensor x();

    /** Routing of the dispatch. */
    LowLatencyHandle handle();

    /** Top-k weights of this rank's tokens; if empty, combine uses the weights that the dispatch carried. */
    Optional<Tensor> topkWeights();

    /** How rows are summed. */
    CombinePrecision precision();

    /** Format that travels. */
    WireFormat format();

    /** Tensor that receives the result; empty for memory of the buffer. */
    Optional<Tensor> out();

    /** Tensor to which the time waited for each rank is added. */
    Optional<Tensor> waitStats();

    /** Returns true if rows are received when {@link CombineResult#receive()} is called. */
    boolean receiveHook();

    /** Collects the options of a request. */
    final class Builder {
        private final Tensor x;
        private final LowLatencyHandle handle;
        private Optional<Tensor> topkWeights = Optional.empty();
        private CombinePrecision precision = CombinePrecision.EXACT;
        private WireFormat format = WireFormat.BF16;
        private Optional<Tensor> out = Optional.empty();
        private Optional<Tensor> waitStats = Optional.empty();
        private boolean receiveHook;

        private Builder(Tensor x, LowLatencyHandle handle) {
            this.x = x;
            this.handle = handle;
        }

        /**
         * Sets the top-k weights of this rank's tokens, {@code [T, K]} FP32; may be left out when the dispatch carried weights.
         */
        public Builder topkWeights(Tensor tensor) {
            this.topkWeights = Optional.of(tensor);
            return this;
        }

        /** Sets how rows are summed; rank-partial needs weights in the dispatch. */
        public Builder precision(CombinePrecision how) {
            this.precision = how;
            return this;
        }

        /** Sets the format in which rows are sent: BF16, which is the default, or LOGFMT10, which rounds them. */
        public Builder format(WireFormat what) {
            this.format = what;
            return this;
        }

        /** Sets the tensor that receives the result, {@code [T, H]} BF16. */
        public Builder out(Tensor tensor) {
            this.out = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor to which the nanoseconds waited for each rank are added, {@code [R]} INT64. */
        public Builder waitStats(Tensor tensor) {
            this.waitStats = Optional.of(tensor);
            return this;
        }

        /**
         * Splits the combine: it sends when called, and receives when {@link CombineResult#receive()} is called; before
         * that, at most one further low-latency combine may begin. With {@linkplain OpOptions#asynchronous asynchronous}
         * options both calls return at once: a GPU queues kernels on the stream of the options, and the host runs both
         * halves on the buffer's thread. With synchronous ones, each call returns when its half is done.
         */
        public Builder receiveHook() {
            this.receiveHook = true;
            return this;
        }

        /**
         * Builds the request.
         *
         * @throws EpArgumentException when the format is for dispatches only
         */
        public LowLatencyCombineRequest build() {
            if (format.isFp8()) {
                throw new EpArgumentException("format", format, "BF16 or LOGFMT10 in a combine", "choose one of these");
            }
            return new LowLatencyCombineRequestValue(
                    x, handle, topkWeights, precision, format, out, waitStats, receiveHook);
        }
    }
}

record LowLatencyCombineRequestValue(
        Tensor x,
        LowLatencyHandle handle,
        Optional<Tensor> topkWeights,
        CombinePrecision precision,
        WireFormat format,
        Optional<Tensor> out,
        Optional<Tensor> waitStats,
        boolean receiveHook)
        implements LowLatencyCombineRequest {
    @Override
    public String toString() {
        return "LowLatencyCombineRequest[x=" + x + ", handle=" + handle + ", topkWeights=" + topkWeights
                + ", precision=" + precision + ", format=" + format + ", out=" + out + ", waitStats=" + waitStats
                + ", receiveHook=" + receiveHook + "]";
    }
}
