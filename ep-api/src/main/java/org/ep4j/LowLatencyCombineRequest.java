package org.ep4j;

import java.util.Optional;

/**
 * What a low-latency combine brings back: {@code out[t] = sum over k of weight[t][k] * row of selection k}, computed in
 * FP32 by fused multiply-adds from 0 in top-k order, then rounded to BF16 once.
 *
 * @param x {@code [L, R * maxLowLatencyTokens, H]} BF16, rows where the dispatch put them
 * @param handle routing of the dispatch
 * @param topkWeights {@code [T, K]} FP32 of this rank's own tokens; may be left out when the dispatch carried weights
 * @param precision how rows are summed; rank-partial needs weights in the dispatch
 * @param logFmt true to send 10-bit LogFMT rows, which are rounded
 * @param out {@code [T, H]} BF16 to put the result in
 * @param waitStats {@code [R]} INT64, to which the nanoseconds waited for each rank are added
 * @param hook true to send now and receive when {@link LowLatencyCombineResult#receive()} is called
 * @param options how it runs
 */
public record LowLatencyCombineRequest(
        Tensor x,
        LowLatencyHandle handle,
        Optional<Tensor> topkWeights,
        CombinePrecision precision,
        boolean logFmt,
        Optional<Tensor> out,
        Optional<Tensor> waitStats,
        boolean hook,
        OpOptions options) {
    /** Checks that {@code hook} is not combined with asynchronous running. */
    public LowLatencyCombineRequest {
        if (hook && options.async()) {
            throw new EpArgumentException(
                    "hook", "true with async", "false with async", "omit async: with hook the call returns early too");
        }
    }

    /** Starts a request that sends the rows {@code x} back along the routes of {@code handle}. */
    public static Builder of(Tensor x, LowLatencyHandle handle) {
        return new Builder(x, handle);
    }

    /** Collects the options of a request. */
    public static final class Builder {
        private final Tensor x;
        private final LowLatencyHandle handle;
        private Optional<Tensor> topkWeights = Optional.empty();
        private CombinePrecision precision = CombinePrecision.EXACT;
        private boolean logFmt;
        private Optional<Tensor> out = Optional.empty();
        private Optional<Tensor> waitStats = Optional.empty();
        private boolean hook;
        private OpOptions options = OpOptions.DEFAULT;

        private Builder(Tensor x, LowLatencyHandle handle) {
            this.x = x;
            this.handle = handle;
        }

        /** Sets the top-k weights of this rank's tokens. */
        public Builder topkWeights(Tensor tensor) {
            this.topkWeights = Optional.of(tensor);
            return this;
        }

        /** Sets how rows are summed. */
        public Builder precision(CombinePrecision how) {
            this.precision = how;
            return this;
        }

        /** Requests that rows are sent in the 10-bit LogFMT format, which rounds them. */
        public Builder logFmt() {
            this.logFmt = true;
            return this;
        }

        /** Sets the tensor that receives the result. */
        public Builder out(Tensor tensor) {
            this.out = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor to which the time waited for each rank is added, in nanoseconds. */
        public Builder waitStats(Tensor tensor) {
            this.waitStats = Optional.of(tensor);
            return this;
        }

        /**
         * Splits the combine: it sends when called, and receives when {@link LowLatencyCombineResult#receive()} is
         * called.
         */
        public Builder hook() {
            this.hook = true;
            return this;
        }

        /** Sets how the operation runs. */
        public Builder options(OpOptions how) {
            this.options = how;
            return this;
        }

        /** The finished request. */
        public LowLatencyCombineRequest build() {
            return new LowLatencyCombineRequest(
                    x, handle, topkWeights, precision, logFmt, out, waitStats, hook, options);
        }
    }
}
