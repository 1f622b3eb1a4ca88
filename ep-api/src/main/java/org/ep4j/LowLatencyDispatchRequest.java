package org.ep4j;

import java.util.Optional;

/**
 * Request of a low-latency dispatch. Immutable: build it once and use it again. {@code x} and {@code out} must start at a
 * multiple of 16 bytes, other tensors at a multiple of their elements' size.
 */
public sealed interface LowLatencyDispatchRequest {
    /**
     * Starts a request for BF16 rows, without options.
     *
     * @param x {@code [T, H]} BF16
     * @param topkIds {@code [T, K]} INT32 or INT64 expert ids, -1 for none; an id may repeat in a token's list, and
     *     every occurrence is a selection; the dispatch throws {@link EpArgumentException} when the repeats give an
     *     expert more than {@code maxLowLatencyTokens} selections from this rank
     */
    static Builder builder(Tensor x, Tensor topkIds) {
        return new Builder(x, topkIds);
    }

    /** Rows to send, {@code [T, H]} BF16. */
    Tensor x();

    /** Expert ids, {@code [T, K]}. */
    Tensor topkIds();

    /** Top-k weights, {@code [T, K]} FP32. */
    Optional<Tensor> topkWeights();

    /** Format that travels and is delivered. */
    WireFormat format();

    /** Tensor that receives the rows; empty for memory of the buffer. */
    Optional<Tensor> out();

    /** Tensor that receives the scales; empty for memory of the buffer. */
    Optional<Tensor> outScales();

    /** Tensor that receives the rows of each local expert; empty for memory of the buffer. */
    Optional<Tensor> outRowsPerExpert();

    /** Tensor that receives the token of each row; empty for memory of the buffer. */
    Optional<Tensor> outSourceTokens();

    /** Tensor that receives the ranges of each local expert's rows; empty for memory of the buffer. */
    Optional<Tensor> outLayoutRanges();

    /** Tensor to which the received selections of each local expert are added. */
    Optional<Tensor> expertStats();

    /** Tensor to which the time waited for each rank is added. */
    Optional<Tensor> waitStats();

    /** Returns true if rows are received when {@link LowLatencyDispatchResult#receive()} is called. */
    boolean receiveHook();

    /** Collects the options of a request. */
    final class Builder {
        private final Tensor x;
        private final Tensor topkIds;
        private Optional<Tensor> topkWeights = Optional.empty();
        private WireFormat format = WireFormat.BF16;
        private Optional<Tensor> out = Optional.empty();
        private Optional<Tensor> outScales = Optional.empty();
        private Optional<Tensor> outRowsPerExpert = Optional.empty();
        private Optional<Tensor> outSourceTokens = Optional.empty();
        private Optional<Tensor> outLayoutRanges = Optional.empty();
        private Optional<Tensor> expertStats = Optional.empty();
        private Optional<Tensor> waitStats = Optional.empty();
        private boolean receiveHook;

        private Builder(Tensor x, Tensor topkIds) {
            this.x = x;
            this.topkIds = topkIds;
        }

        /**
         * Sets the top-k weights, {@code [T, K]} FP32, which a combine with {@link CombinePrecision#RANK_PARTIAL} needs.
         */
        public Builder topkWeights(Tensor tensor) {
            this.topkWeights = Optional.of(tensor);
            return this;
        }

        /** Sets the format in which rows are sent and delivered: BF16, which is the default, or one of FP8. */
        public Builder format(WireFormat what) {
            this.format = what;
            return this;
        }

        /**
         * Sets the tensor that receives the rows: {@code [L, R * maxLowLatencyTokens, H]} of the format's type, see {@link
         * EpBuffer#maxLowLatencyRows}.
         */
        public Builder out(Tensor tensor) {
            this.out = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor that receives the scales of an FP8 format: {@code [L, R * maxLowLatencyTokens, S]} FP32, or UE8M0
         * with S rounded up to a multiple of 4 for {@link WireFormat#FP8_UE8M0}.
         */
        public Builder outScales(Tensor tensor) {
            this.outScales = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor that receives the rows of each local expert instead of the buffer: {@code [L]} INT32. */
        public Builder outRowsPerExpert(Tensor tensor) {
            this.outRowsPerExpert = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor that receives the index of each row's token on its source rank instead of the buffer: {@code [L, R *
         * maxLowLatencyTokens]} INT32.
         */
        public Builder outSourceTokens(Tensor tensor) {
            this.outSourceTokens = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor that receives the rows from each source rank within each local expert instead of the buffer: {@code
         * [L, R]} INT64, see {@link LowLatencyDispatchResult#layoutRanges}.
         */
        public Builder outLayoutRanges(Tensor tensor) {
            this.outLayoutRanges = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor to which the received selections of each local expert are added, {@code [L]} INT32. */
        public Builder expertStats(Tensor tensor) {
            this.expertStats = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor to which the nanoseconds waited for each rank are added, {@code [R]} INT64. */
        public Builder waitStats(Tensor tensor) {
            this.waitStats = Optional.of(tensor);
            return this;
        }

        /**
         * Splits the dispatch: it sends when called, and receives when {@link LowLatencyDispatchResult#receive()} is
         * called; before that, at most one further dispatch may begin. With {@linkplain OpOptions#asynchronous
         * asynchronous} options both calls return at once: a GPU queues kernels on the stream of the options, and the host
         * runs both halves on the buffer's thread. With synchronous ones, each call returns when its half is done.
         */
        public Builder receiveHook() {
            this.receiveHook = true;
            return this;
        }

        /**
         * Builds the request.
         *
         * @throws EpArgumentException when the format is for combines only
         */
        public LowLatencyDispatchRequest build() {
            if (format != WireFormat.BF16 && !format.isFp8()) {
                throw new EpArgumentException(
                        "format", format, "BF16, FP8, FP8_POW2 or FP8_UE8M0 in a dispatch", "choose one of these");
            }
            return new LowLatencyDispatchRequestValue(
                    x,
                    topkIds,
                    topkWeights,
                    format,
                    out,
                    outScales,
                    outRowsPerExpert,
                    outSourceTokens,
                    outLayoutRanges,
                    expertStats,
                    waitStats,
                    receiveHook);
        }
    }
}

record LowLatencyDispatchRequestValue(
        Tensor x,
        Tensor topkIds,
        Optional<Tensor> topkWeights,
        WireFormat format,
        Optional<Tensor> out,
        Optional<Tensor> outScales,
        Optional<Tensor> outRowsPerExpert,
        Optional<Tensor> outSourceTokens,
        Optional<Tensor> outLayoutRanges,
        Optional<Tensor> expertStats,
        Optional<Tensor> waitStats,
        boolean receiveHook)
        implements LowLatencyDispatchRequest {
    @Override
    public String toString() {
        return "LowLatencyDispatchRequest[x=" + x + ", topkIds=" + topkIds + ", topkWeights=" + topkWeights
                + ", format=" + format + ", out=" + out + ", outScales=" + outScales + ", outRowsPerExpert="
                + outRowsPerExpert + ", outSourceTokens=" + outSourceTokens + ", outLayoutRanges=" + outLayoutRanges
                + ", expertStats=" + expertStats + ", waitStats=" + waitStats + ", receiveHook=" + receiveHook + "]";
    }
}
