package org.ep4j;

import java.util.Optional;

/**
 * What a low-latency dispatch sends. {@code x} and {@code out} must start at a multiple of 16 bytes.
 *
 * @param x {@code [T, H]} BF16
 * @param topkIds {@code [T, K]} INT32 or INT64 expert ids, -1 for none; an id may repeat in a token's list, and every
 *     occurrence is a selection; {@link EpArgumentException} when the repeats give an expert more than
 *     {@code maxLowLatencyTokens} selections from this rank
 * @param topkWeights {@code [T, K]} FP32; needed only for a rank-partial combine
 * @param format what travels and is delivered
 * @param out {@code [L, R * maxLowLatencyTokens, H]} of the format's type to put the rows in
 * @param outScales {@code [L, R * maxLowLatencyTokens, S]} FP32 to put the scales in, or UE8M0 with S rounded up to a
 *     multiple of 4 for {@link WireFormat#FP8_UE8M0}; only with FP8 formats
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
     * Format of the rows that a low-latency dispatch sends and delivers. FP8 rows have one scale for each 128 channels.
     * FP8 is OCP's E4M3 on every device, gfx942 among them, so ranks of all kinds of GPUs agree.
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

    /** Checks that {@code hook} is not combined with asynchronous running. */
    public LowLatencyDispatchRequest {
        if (hook && options.async()) {
            throw new EpArgumentException(
                    "hook", "true with async", "false with async", "omit async: with hook the call returns early too");
        }
    }

    /** Starts a request for BF16 rows, without options. */
    public static Builder of(Tensor x, Tensor topkIds) {
        return new Builder(x, topkIds);
    }

    /** Collects the options of a request. */
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

        /** Sets the top-k weights, which a combine with {@link CombinePrecision#RANK_PARTIAL} needs. */
        public Builder topkWeights(Tensor tensor) {
            this.topkWeights = Optional.of(tensor);
            return this;
        }

        /** Sets the format in which rows are sent and delivered. */
        public Builder format(WireFormat what) {
            this.format = what;
            return this;
        }

        /** Sets the tensor that receives the rows. */
        public Builder out(Tensor tensor) {
            this.out = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor that receives the scales. */
        public Builder outScales(Tensor tensor) {
            this.outScales = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor to which the number of received selections of each local expert is added. */
        public Builder cumulativeStats(Tensor tensor) {
            this.cumulativeStats = Optional.of(tensor);
            return this;
        }

        /** Sets the tensor to which the time waited for each rank is added, in nanoseconds. */
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

        /** Sets how the operation runs. */
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
