package org.ep4j;

import java.util.Optional;

/**
 * What a low-latency dispatch sends.
 *
 * @param x {@code [T, H]} BF16
 * @param topkIds {@code [T, K]} INT32 or INT64 expert ids, -1 for none, no id twice in a row
 * @param topkWeights {@code [T, K]} FP32; needed only for a rank-partial combine
 * @param format what travels and is delivered
 * @param out {@code [L, R * maxLowLatencyTokens, H]} of the format's type to put the rows in
 * @param outScales scales to go with {@code out}
 * @param cumulativeStats {@code [L]} INT32, to which the received selections of each local expert are added
 * @param waitStats {@code [R]} INT64, to which the nanoseconds waited for each rank are added
 * @param hook true to send now and receive when {@link LowLatencyDispatchResult#receive()} is called
 * @param options how it runs
 */
public record LowLatencyDispatchRequest(
        Tensor x,
        Tensor topkIds,
        Optional<Tensor> topkWeights,
        WireFormat format,
        Optional<Tensor> out,
        Optional<Tensor> outScales,
        Optional<Tensor> cumulativeStats,
        Optional<Tensor> waitStats,
        boolean hook,
        OpOptions options) {
    /**
     * What a low-latency dispatch sends and delivers; scales are one for each 128 channels. FP8 is OCP's E4M3 on every device,
     * gfx942 among them, so ranks of all kinds of GPUs agree.
     */
    public enum WireFormat {
        /** The rows as they are. */
        BF16,
        /** FP8_E4M3 with FP32 scales: {@code scale = amax / 448}. */
        FP8,
        /** FP8_E4M3 with FP32 scales rounded up to a power of two. */
        FP8_POW2,
        /** FP8_E4M3 with the power-of-two scales as UE8M0 bytes. */
        FP8_UE8M0
    }

    /** Checks that the hook and asynchronous running are not both asked for. */
    public LowLatencyDispatchRequest {
        if (hook && options.async()) {
            throw new EpArgumentException("hook", "true with async", "one of them", "the hook already returns early");
        }
    }

    /** BF16, no options. */
    public static Builder of(Tensor x, Tensor topkIds) {
        return new Builder(x, topkIds);
    }

    /** Collects the options. */
    public static final class Builder {
        private final Tensor x;
        private final Tensor topkIds;
        private Optional<Tensor> topkWeights = Optional.empty();
        private WireFormat format = WireFormat.BF16;
        private Optional<Tensor> out = Optional.empty();
        private Optional<Tensor> outScales = Optional.empty();
        private Optional<Tensor> cumulativeStats = Optional.empty();
        private Optional<Tensor> waitStats = Optional.empty();
        private boolean hook;
        private OpOptions options = OpOptions.DEFAULT;

        private Builder(Tensor x, Tensor topkIds) {
            this.x = x;
            this.topkIds = topkIds;
        }

        /** Weights, for a rank-partial combine. */
        public Builder topkWeights(Tensor tensor) {
            this.topkWeights = Optional.of(tensor);
            return this;
        }

        /** What travels. */
        public Builder format(WireFormat what) {
            this.format = what;
            return this;
        }

        /** Puts the rows here. */
        public Builder out(Tensor tensor) {
            this.out = Optional.of(tensor);
            return this;
        }

        /** Puts the scales here. */
        public Builder outScales(Tensor tensor) {
            this.outScales = Optional.of(tensor);
            return this;
        }

        /** Adds received selections here. */
        public Builder cumulativeStats(Tensor tensor) {
            this.cumulativeStats = Optional.of(tensor);
            return this;
        }

        /** Adds waiting times here. */
        public Builder waitStats(Tensor tensor) {
            this.waitStats = Optional.of(tensor);
            return this;
        }

        /**
         * Splits the dispatch: it sends when called, and receives when {@link LowLatencyDispatchResult#receive()} is
         * called.
         */
        public Builder hook() {
            this.hook = true;
            return this;
        }

        /** How it runs. */
        public Builder options(OpOptions how) {
            this.options = how;
            return this;
        }

        /** The finished request. */
        public LowLatencyDispatchRequest build() {
            return new LowLatencyDispatchRequest(
                    x, topkIds, topkWeights, format, out, outScales, cumulativeStats, waitStats, hook, options);
        }
    }
}
