package org.ep4j.engine.buffer;

import org.ep4j.DataType;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;
import org.ep4j.ScaleLayout;
import org.ep4j.engine.layout.ScaleGrid;

/**
 * How the rows of a low-latency dispatch travel and arrive.
 *
 * @param wire what the caller asked for
 * @param layout of the scales
 * @param shape sizes
 */
public record LowLatencyFormat(WireFormat wire, ScaleLayout layout, EpShape shape) {
    /** True when rows come with scales. */
    public boolean fp8() {
        return wire != WireFormat.BF16;
    }

    /** Type of rows. */
    public DataType rowType() {
        return fp8() ? DataType.FP8_E4M3 : DataType.BF16;
    }

    /** Type of the scales that the receiver gets. */
    public DataType scaleType() {
        return wire == WireFormat.FP8_UE8M0 ? DataType.UE8M0 : DataType.FP32;
    }

    /** Where the scales of one expert's rows lie. */
    public ScaleGrid scales() {
        return new ScaleGrid(scaleType(), shape.scales(), layout);
    }

    /** Dimensions of the scales that the receiver gets, padding included. */
    public long[] scaleDims(int localExperts, long rows) {
        return scales().dims(rows, localExperts);
    }

    /** As kernels and what the ranks agree on say it. */
    public int code() {
        return switch (wire) {
            case BF16 -> 0;
            case FP8 -> 1;
            case FP8_POW2 -> 2;
            case FP8_UE8M0 -> 3;
        };
    }
}
