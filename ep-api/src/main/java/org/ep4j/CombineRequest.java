package org.ep4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Request of a high-throughput combine: {@code out[t] = bias0[t] + bias1[t] + sum of the rows of t}. The sum is
 * unweighted: scale {@code x} first. Immutable: build it once and use it again. {@code x}, {@code bias} and {@code out}
 * must start at a multiple of 16 bytes.
 */
public sealed interface CombineRequest {
    /**
     * Starts a request that sends rows back along the routes of a dispatch.
     *
     * @param x {@code [rows, H]} BF16 in the row order of the handle; read in place where it lies in
     *     {@link EpBuffer#combineInput()}
     * @param handle routing of the dispatch
     */
    static Builder builder(Tensor x, DispatchHandle handle) {
        return new Builder(x, handle);
    }

    /** Rows to send back, {@code [rows, H]} BF16. */
    Tensor x();

    /** Routing of the dispatch. */
    DispatchHandle handle();

    /** Weights to send back with the rows. */
    Optional<Tensor> weights();

    /** Biases: none, one or two {@code [T, H]} BF16. */
    List<Tensor> bias();

    /** How rows are summed. */
    CombinePrecision precision();

    /** Tensor that receives the result; empty for memory of the buffer. */
    Optional<Tensor> out();

    /** Tensor that receives the weights that come back; empty for memory of the buffer. */
    Optional<Tensor> outWeights();

    /** Tensor to which the time waited for each rank is added. */
    Optional<Tensor> waitStats();

    /** Collects the options of a request. */
    final class Builder {
        private final Tensor x;
        private final DispatchHandle handle;
        private final List<Tensor> bias = new ArrayList<>();
        private Optional<Tensor> weights = Optional.empty();
        private CombinePrecision precision = CombinePrecision.EXACT;
        private Optional<Tensor> out = Optional.empty();
        private Optional<Tensor> outWeights = Optional.empty();
        private Optional<Tensor> waitStats = Optional.empty();

        private Builder(Tensor x, DispatchHandle handle) {
            this.x = x;
            this.handle = handle;
        }

        /**
         * Sets the weights to send back with the rows, unchanged, one for each selection ({@link CombineResult#weights}). They
         * do not scale the rows. {@code [rows, K]} FP32 in the by-rank layout, {@code [rows]} in the by-expert layout.
         */
        public Builder weights(Tensor tensor) {
            this.weights = Optional.of(tensor);
            return this;
        }

        /** Adds a bias, {@code [T, H]} BF16; at most two are allowed. */
        public Builder bias(Tensor tensor) {
            this.bias.add(tensor);
            return this;
        }

        /**
         * Sets how rows are summed; {@link CombinePrecision#EXACT} is the default. In the by-rank layout both values give the
         * same result, since each rank returns one row for a token.
         */
        public Builder precision(CombinePrecision how) {
            this.precision = how;
            return this;
        }

        /** Sets the tensor that receives the result, {@code [T, H]} BF16. */
        public Builder out(Tensor tensor) {
            this.out = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor that receives the weights that come back instead of the buffer, {@code [T, K]} FP32. Only with {@link
         * #weights}.
         */
        public Builder outWeights(Tensor tensor) {
            this.outWeights = Optional.of(tensor);
            return this;
        }

        /**
         * Sets the tensor to which the nanoseconds waited for each rank's rows are added, {@code [R]} INT64. The wait at the
         * end, until other ranks have read this rank's rows, does not count.
         */
        public Builder waitStats(Tensor tensor) {
            this.waitStats = Optional.of(tensor);
            return this;
        }

        /**
         * Builds the request.
         *
         * @throws EpArgumentException when there are more than two biases
         */
        public CombineRequest build() {
            if (bias.size() > 2) {
                throw new EpArgumentException("bias", bias.size() + " tensors", "at most 2", "add them up before");
            }
            return new CombineRequestValue(
                    x, handle, weights, List.copyOf(bias), precision, out, outWeights, waitStats);
        }
    }
}

record CombineRequestValue(
        Tensor x,
        DispatchHandle handle,
        Optional<Tensor> weights,
        List<Tensor> bias,
        CombinePrecision precision,
        Optional<Tensor> out,
        Optional<Tensor> outWeights,
        Optional<Tensor> waitStats)
        implements CombineRequest {
    @Override
    public String toString() {
        return "CombineRequest[x=" + x + ", handle=" + handle + ", weights=" + weights + ", bias=" + bias
                + ", precision=" + precision + ", out=" + out + ", outWeights=" + outWeights + ", waitStats="
                + waitStats + "]";
    }
}
