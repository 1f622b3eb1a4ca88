package org.ep4j;

import java.util.Optional;

/**
 * Where a high-throughput dispatch puts its results, beside the rows ({@link DispatchRequest#out}): tensors of the caller in
 * place of the buffer's, which stay valid for as long as the caller keeps them. Those with an entry for each row need room for
 * the worst case ({@link DispatchRequest#exactCounts} or not), the rows that the shape lets arrive, padding included; results
 * are their first rows.
 *
 * @param scales where the rows are FP8: {@code [>= rows, S]} of the sent type; in columns as {@link ScaleLayout#COLUMNS} says, with N of
 *     the worst case or larger, a multiple of 4
 * @param topkIds {@code [>= rows, K]} of the sent id type; by-rank layout only
 * @param topkWeights where weights are sent: {@code [>= rows, K]} FP32 by rank, {@code [>= rows]} by expert
 * @param sourceRanks {@code [>= rows]} INT32
 * @param sourceTokens {@code [>= rows]} INT32
 * @param rowsPerSource {@code [R]} INT32
 * @param rowsPerExpert {@code [L]} INT32
 * @param expertOffsets {@code [L + 1]} INT64
 */
public record DispatchOutputs(
        Optional<Tensor> scales,
        Optional<Tensor> topkIds,
        Optional<Tensor> topkWeights,
        Optional<Tensor> sourceRanks,
        Optional<Tensor> sourceTokens,
        Optional<Tensor> rowsPerSource,
        Optional<Tensor> rowsPerExpert,
        Optional<Tensor> expertOffsets) {
    /** All in the buffer. */
    public static final DispatchOutputs IN_BUFFER = builder().build();

    /** Starts with all in the buffer. */
    public static Builder builder() {
        return new Builder();
    }

    /** Collects the tensors. */
    public static final class Builder {
        private Optional<Tensor> scales = Optional.empty();
        private Optional<Tensor> topkIds = Optional.empty();
        private Optional<Tensor> topkWeights = Optional.empty();
        private Optional<Tensor> sourceRanks = Optional.empty();
        private Optional<Tensor> sourceTokens = Optional.empty();
        private Optional<Tensor> rowsPerSource = Optional.empty();
        private Optional<Tensor> rowsPerExpert = Optional.empty();
        private Optional<Tensor> expertOffsets = Optional.empty();

        private Builder() {}

        /** Puts the scales here. */
        public Builder scales(Tensor tensor) {
            this.scales = Optional.of(tensor);
            return this;
        }

        /** Puts the local expert indices here. */
        public Builder topkIds(Tensor tensor) {
            this.topkIds = Optional.of(tensor);
            return this;
        }

        /** Puts the weights here. */
        public Builder topkWeights(Tensor tensor) {
            this.topkWeights = Optional.of(tensor);
            return this;
        }

        /** Puts the source rank of each row here. */
        public Builder sourceRanks(Tensor tensor) {
            this.sourceRanks = Optional.of(tensor);
            return this;
        }

        /** Puts the source token of each row here. */
        public Builder sourceTokens(Tensor tensor) {
            this.sourceTokens = Optional.of(tensor);
            return this;
        }

        /** Puts the rows from each source rank here. */
        public Builder rowsPerSource(Tensor tensor) {
            this.rowsPerSource = Optional.of(tensor);
            return this;
        }

        /** Puts the selections of each local expert here. */
        public Builder rowsPerExpert(Tensor tensor) {
            this.rowsPerExpert = Optional.of(tensor);
            return this;
        }

        /** Puts the first row of each local expert here. */
        public Builder expertOffsets(Tensor tensor) {
            this.expertOffsets = Optional.of(tensor);
            return this;
        }

        /** The finished outputs. */
        public DispatchOutputs build() {
            return new DispatchOutputs(
                    scales,
                    topkIds,
                    topkWeights,
                    sourceRanks,
                    sourceTokens,
                    rowsPerSource,
                    rowsPerExpert,
                    expertOffsets);
        }
    }
}
