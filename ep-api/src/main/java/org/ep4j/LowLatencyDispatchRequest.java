package org.ep4j;

import java.util.List;
import java.util.Optional;
import org.apiguardian.api.API;

/**
 * What a low-latency dispatch sends. Immutable: build it once and use it again. {@code x} and {@code out} must start at a
 * multiple of 16 bytes.
 */
@API(status = API.Status.STABLE, since = "0.1")
public final class LowLatencyDispatchRequest {
    private final Tensor x;
    private final Tensor topkIds;
    private final Optional<Tensor> topkWeights;
    private final WireFormat format;
    private final Optional<Tensor> out;
    private final Optional<Tensor> outScales;
    private final Optional<Tensor> expertStats;
    private final Optional<Tensor> waitStats;
    private final boolean receiveHook;

    private LowLatencyDispatchRequest(Builder builder) {
        x = builder.x;
        topkIds = builder.topkIds;
        topkWeights = builder.topkWeights;
        format = builder.format;
        out = builder.out;
        outScales = builder.outScales;
        expertStats = builder.expertStats;
        waitStats = builder.waitStats;
        receiveHook = builder.receiveHook;
    }

    /**
     * Starts a request for BF16 rows, without options.
     *
     * @param x {@code [T, H]} BF16
     * @param topkIds {@code [T, K]} INT32 or INT64 expert ids, -1 for none; an id may repeat in a token's list, and
     *     every occurrence is a selection; the dispatch throws {@link EpArgumentException} when the repeats give an
     *     expert more than {@code maxLowLatencyTokens} selections from this rank
     */
    public static Builder builder(Tensor x, Tensor topkIds) {
        return new Builder(x, topkIds);
    }

    /** Rows to send, {@code [T, H]} BF16. */
    public Tensor x() {
        return x;
    }

    /** Expert ids, {@code [T, K]}. */
    public Tensor topkIds() {
        return topkIds;
    }

    /** Top-k weights, {@code [T, K]} FP32. */
    public Optional<Tensor> topkWeights() {
        return topkWeights;
    }

    /** Format that travels and is delivered. */
    public WireFormat format() {
        return format;
    }

    /** Tensor that receives the rows; empty for memory of the buffer. */
    public Optional<Tensor> out() {
        return out;
    }

    /** Tensor that receives the scales; empty for memory of the buffer. */
    public Optional<Tensor> outScales() {
        return outScales;
    }

    /** Tensor to which the received selections of each local expert are added. */
    public Optional<Tensor> expertStats() {
        return expertStats;
    }

    /** Tensor to which the time waited for each rank is added. */
    public Optional<Tensor> waitStats() {
        return waitStats;
    }

    /** Returns true if rows are received when {@link LowLatencyDispatchResult#receive()} is called. */
    public boolean receiveHook() {
        return receiveHook;
    }

    private List<Object> values() {
        return List.of(x, topkIds, topkWeights, format, out, outScales, expertStats, waitStats, receiveHook);
    }

    @Override
    public boolean equals(Object other) {
        return this == other || (other instanceof LowLatencyDispatchRequest r && values().equals(r.values()));
    }

    @Override
    public int hashCode() {
        return values().hashCode();
    }

    @Override
    public String toString() {
        return "LowLatencyDispatchRequest[x=" + x + ", topkIds=" + topkIds + ", topkWeights=" + topkWeights
                + ", format=" + format + ", out=" + out + ", outScales=" + outScales + ", expertStats=" + expertStats
                + ", waitStats=" + waitStats + ", receiveHook=" + receiveHook + "]";
    }

    /** Collects the options of a request. */
    @API(status = API.Status.STABLE, since = "0.1")
    public static final class Builder {
        private final Tensor x;
        private final Tensor topkIds;
        private Optional<Tensor> topkWeights = Optional.empty();
        private WireFormat format = WireFormat.BF16;
        private Optional<Tensor> out = Optional.empty();
        private Optional<Tensor> outScales = Optional.empty();
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
         * called. Not with {@link OpOptions#asynchronous} options: the call returns early anyway.
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
            return new LowLatencyDispatchRequest(this);
        }
    }
}
