package org.ep4j.tck.rules;

import org.ep4j.CombinePrecision;
import org.ep4j.DataType;
import org.ep4j.RowLayout;
import org.ep4j.tck.crew.Params;
import org.ep4j.tck.oracle.Verifier;

/**
 * How one high-throughput exchange is made.
 *
 * @param layout order of rows
 * @param alignment of experts
 * @param zeroPadding whether padding is zeroed
 * @param exactCounts false for worst-case results
 * @param rows type of the rows; FP8 has scales
 * @param idType INT32 or INT64
 * @param weights carried along
 * @param precision of the combine
 * @param biases of the combine, 0 to 2
 * @param returned whether weights come back
 * @param cached a second dispatch along the handle of the first, with other rows
 * @param out results where the caller says
 * @param zeroCopy expert outputs in the buffer's own memory
 * @param async events on both operations
 * @param after inputs that are not there before an event
 * @param stream native stream of a GPU
 */
record HighThroughputOptions(
        RowLayout layout,
        int alignment,
        boolean zeroPadding,
        boolean exactCounts,
        DataType rows,
        DataType idType,
        boolean weights,
        CombinePrecision precision,
        int biases,
        boolean returned,
        boolean cached,
        boolean out,
        boolean zeroCopy,
        boolean async,
        boolean after,
        long stream) {

    static HighThroughputOptions of(Params params) {
        return of(params, params.number("stream", 0));
    }

    static HighThroughputOptions of(Params params, long stream) {
        return new HighThroughputOptions(
                params.one(RowLayout.class, "layout", RowLayout.BY_RANK),
                params.number("align", 1),
                params.has("pad"),
                !params.has("worst"),
                params.has("fnuz") ? DataType.FP8_E4M3_FNUZ : params.has("fp8") ? DataType.FP8_E4M3 : DataType.BF16,
                params.has("id64") ? DataType.INT64 : DataType.INT32,
                !params.has("noweights"),
                params.one(CombinePrecision.class, "precision", CombinePrecision.EXACT),
                params.number("bias", 0),
                !params.has("noreturn"),
                params.has("cached"),
                params.has("out"),
                params.has("zerocopy"),
                params.has("async"),
                params.has("after"),
                stream);
    }

    boolean fp8() {
        return rows.isFp8();
    }

    Verifier.Carried carried() {
        return new Verifier.Carried(rows, idType, weights, zeroPadding, exactCounts);
    }

    Verifier.CombineWant want() {
        return new Verifier.CombineWant(layout, precision, biases, returned);
    }
}
