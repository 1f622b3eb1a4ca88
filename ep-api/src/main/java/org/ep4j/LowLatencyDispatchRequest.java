package org.ep4j;

import java.util.Optional;

/**
 * What a low-latency dispatch sends.
 *
 * @param x {@code [T, H]} BF16
 * @param topkIds {@code [T, K]} INT32 or INT64 expert ids, -1 for none
 * @param topkWeights {@code [T, K]} FP32; needed only for a rank-partial combine
 * @param format what travels and is delivered
 * @param out {@code [L, R * maxLowLatencyTokens, H]} of the format's type to put the rows in
 * @param outScales scales to go with {@code out}, as {@code scaleLayout} says
 * @param outCounts {@code [L]} INT32 to put the counts in
 * @param outSourceTokens {@code [L, R * maxLowLatencyTokens]} INT32 to put the source tokens in
 * @param outLayoutRanges {@code [L, R]} INT64 to put the layout ranges in
 * @param countsOnHost true to have the counts on the host, too: {@link LowLatencyDispatchResult#countsOnHost}
 * @param cumulativeStats {@code [L]} INT32, to which the received selections of each local expert are added
 * @param waitStats {@code [R]} INT64, to which the nanoseconds waited for each rank are added
 * @param hook true to send now and receive when {@link LowLatencyDispatchResult#receive()} is called; asynchronous, too, both calls only
 *     queue their half
 * @param scaleLayout how the scales lie in the result
 * @param options how it runs
 */
public record LowLatencyDispatchRequest(
        Tensor x,
        Tensor topkIds,
        Optional<Tensor> topkWeights,
        WireFormat format,
        Optional<Tensor> out,
        Optional<Tensor> outScales,
        Optional<Tensor> outCounts,
        Optional<Tensor> outSourceTokens,
        Optional<Tensor> outLayoutRanges,
        boolean countsOnHost,
        Optional<Tensor> cumulativeStats,
        Optional<Tensor> waitStats,
        boolean hook,
        ScaleLayout scaleLayout,
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

    /** Checks that scales are there where something is said of them. */
    public LowLatencyDispatchRequest {
        if (scaleLayout != ScaleLayout.ROWS && format == WireFormat.BF16) {
            throw new EpArgumentException(
                    "scaleLayout", scaleLayout, "ROWS with BF16 rows, which have no scales", "leave it out");
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
        private Optional<Tensor> outCounts = Optional.empty();
        private Optional<Tensor> outSourceTokens = Optional.empty();
        private Optional<Tensor> outLayoutRanges = Optional.empty();
        private boolean countsOnHost;
        private Optional<Tensor> cumulativeStats = Optional.empty();
        private Optional<Tensor> waitStats = Optional.empty();
        private boolean hook;
        private ScaleLayout scaleLayout = ScaleLayout.ROWS;
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

        /** Puts the counts here. */
        public Builder outCounts(Tensor tensor) {
            this.outCounts = Optional.of(tensor);
            return this;
        }

        /** Puts the source tokens here. */
        public Builder outSourceTokens(Tensor tensor) {
            this.outSourceTokens = Optional.of(tensor);
            return this;
        }

        /** Puts the layout ranges here. */
        public Builder outLayoutRanges(Tensor tensor) {
            this.outLayoutRanges = Optional.of(tensor);
            return this;
        }

        /** Has the counts on the host, too. */
        public Builder countsOnHost() {
            this.countsOnHost = true;
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

        /** Sends now, receives later. */
        public Builder hook() {
            this.hook = true;
            return this;
        }

        /** How the scales lie in the result. */
        public Builder scaleLayout(ScaleLayout order) {
            this.scaleLayout = order;
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
                    x,
                    topkIds,
                    topkWeights,
                    format,
                    out,
                    outScales,
                    outCounts,
                    outSourceTokens,
                    outLayoutRanges,
                    countsOnHost,
                    cumulativeStats,
                    waitStats,
                    hook,
                    scaleLayout,
                    options);
        }
    }
}
