package org.ep4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What a high-throughput combine brings back: {@code out[t] = bias0[t] + bias1[t] + sum of the rows of t}. The sum is
 * unweighted: scale {@code x} first. {@code x}, {@code bias} and {@code out} must start at a multiple of 16 bytes.
 *
 * @param x {@code [rows, H]} BF16 in the row order of the handle; read in place where it lies in
 *     {@link EpBuffer#combineInput()}
 * @param handle routing of the dispatch
 * @param weights returned unchanged to the token's rank, one for each selection ({@link CombineResult#weights}); they
 *     do not scale {@code x}: {@code [rows, K]} FP32 in the by-rank layout, {@code [rows]} in the by-expert layout
 * @param bias none, one or two {@code [T, H]} BF16
 * @param precision how rows are summed. In the by-rank layout both values give the same result, since each rank returns
 *     one row for a token
 * @param out {@code [T, H]} BF16 to put the result in
 * @param options how it runs
 */
public record CombineRequest(
        Tensor x,
        DispatchHandle handle,
        Optional<Tensor> weights,
        List<Tensor> bias,
        CombinePrecision precision,
        Optional<Tensor> out,
        OpOptions options) {
    /** Copies the biases and checks their number. */
    public CombineRequest {
        bias = List.copyOf(bias);
        if (bias.size() > 2) {
            throw new EpArgumentException("bias", bias.size() + " tensors", "at most 2", "add them up before");
        }
    }

    /** Starts a request that sends the rows {@code x} back along the routes of {@code handle}. */
    public static Builder of(Tensor x, DispatchHandle handle) {
        return new Builder(x, handle);
    }

    /** Collects the options of a request. */
    public static final class Builder {
        private final Tensor x;
        private final DispatchHandle handle;
        private final List<Tensor> bias = new ArrayList<>();
        private Optional<Tensor> weights = Optional.empty();
        private CombinePrecision precision = CombinePrecision.EXACT;
        private Optional<Tensor> out = Optional.empty();
        private OpOptions options = OpOptions.DEFAULT;

        private Builder(Tensor x, DispatchHandle handle) {
            this.x = x;
            this.handle = handle;
        }

        /** Sets the weights to send back with the rows. They do not scale the rows. */
        public Builder weights(Tensor tensor) {
            this.weights = Optional.of(tensor);
            return this;
        }

        /** Adds a bias; at most two are allowed. */
        public Builder bias(Tensor tensor) {
            this.bias.add(tensor);
            return this;
        }

        /** Sets how rows are summed. */
        public Builder precision(CombinePrecision how) {
            this.precision = how;
            return this;
        }

        /** Sets the tensor that receives the result. */
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
        public CombineRequest build() {
            return new CombineRequest(x, handle, weights, bias, precision, out, options);
        }
    }
}
