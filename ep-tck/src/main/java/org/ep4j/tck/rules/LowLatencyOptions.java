package org.ep4j.tck.rules;

import org.ep4j.CombinePrecision;
import org.ep4j.DataType;
import org.ep4j.WireFormat;
import org.ep4j.tck.crew.Params;

/**
 * How one low-latency exchange is made.
 *
 * @param format what travels
 * @param idType INT32 or INT64
 * @param weightsAtDispatch weights go with the dispatch
 * @param weightsAtCombine weights are given to the combine
 * @param precision of the combine
 * @param logFmt LogFMT rows in the combine
 * @param hook send now, receive later
 * @param out results where the caller says
 * @param statistics both kinds
 * @param zeroCopy expert outputs in the buffer's own memory
 * @param async events on both operations
 * @param after inputs that are not there before an event
 * @param stream native stream of a GPU
 */
record LowLatencyOptions(
        WireFormat format,
        DataType idType,
        boolean weightsAtDispatch,
        boolean weightsAtCombine,
        CombinePrecision precision,
        boolean logFmt,
        boolean hook,
        boolean out,
        boolean statistics,
        boolean zeroCopy,
        boolean async,
        boolean after,
        long stream) {

    static LowLatencyOptions of(Params params) {
        return of(params, params.number("stream", 0));
    }

    static LowLatencyOptions of(Params params, long stream) {
        CombinePrecision precision = params.one(CombinePrecision.class, "precision", CombinePrecision.EXACT);
        String weights = params.text("weights", precision == CombinePrecision.RANK_PARTIAL ? "dispatch" : "combine");
        return new LowLatencyOptions(
                params.one(WireFormat.class, "format", WireFormat.BF16),
                params.has("id64") ? DataType.INT64 : DataType.INT32,
                !weights.equals("combine"),
                !weights.equals("dispatch"),
                precision,
                params.has("logfmt"),
                params.has("hook"),
                params.has("out"),
                params.has("stats"),
                params.has("zerocopy"),
                params.has("async"),
                params.has("after"),
                stream);
    }
}
