package org.ep4j.tck.rules;

import java.util.Optional;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.Tensor;

/** Tensors of the caller for what goes with the rows of a high-throughput dispatch. */
record DispatchOutputs(
        Optional<Tensor> scales,
        Optional<Tensor> topkIds,
        Optional<Tensor> topkWeights,
        Optional<Tensor> sourceRanks,
        Optional<Tensor> sourceTokens,
        Optional<Tensor> rowsPerSource,
        Optional<Tensor> rowsPerExpert,
        Optional<Tensor> expertOffsets) {
    void give(DispatchRequest.Builder request) {
        scales.ifPresent(request::outScales);
        topkIds.ifPresent(request::outTopkIds);
        topkWeights.ifPresent(request::outTopkWeights);
        sourceRanks.ifPresent(request::outSourceRanks);
        sourceTokens.ifPresent(request::outSourceTokens);
        rowsPerSource.ifPresent(request::outRowsPerSource);
        rowsPerExpert.ifPresent(request::outRowsPerExpert);
        expertOffsets.ifPresent(request::outExpertOffsets);
    }

    /** Checks that the result lies in these tensors. */
    void check(DispatchResult result) {
        Exchange.checkAddress("scales", () -> result.scales().orElseThrow(), scales);
        Exchange.checkAddress("topkIds", () -> result.topkIds().orElseThrow(), topkIds);
        Exchange.checkAddress("topkWeights", () -> result.topkWeights().orElseThrow(), topkWeights);
        Exchange.checkAddress("sourceRanks", result::sourceRanks, sourceRanks);
        Exchange.checkAddress("sourceTokens", result::sourceTokens, sourceTokens);
        Exchange.checkAddress("rowsPerSource", result::rowsPerSource, rowsPerSource);
        Exchange.checkAddress("rowsPerExpert", result::rowsPerExpert, rowsPerExpert);
        Exchange.checkAddress("expertOffsets", result::expertOffsets, expertOffsets);
    }
}
