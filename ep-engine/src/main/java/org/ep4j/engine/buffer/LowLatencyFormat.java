package org.ep4j.engine.buffer;

import org.ep4j.DataType;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyDispatchRequest.WireFormat;

/**
 * How the rows of a low-latency dispatch travel and arrive.
 *
 * @param wire what the caller asked for
 * @param shape sizes
 */
public record LowLatencyFormat(WireFormat wire, EpShape shape) {
    /** UE8M0 scales are read four at a time. */
    private static final int UE8M0_GROUP = 4;

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

    /** Scales of a row that the receiver gets, padding included. */
    public int scaleCount() {
        int scales = shape.scales();
        return wire == WireFormat.FP8_UE8M0 ? (scales + UE8M0_GROUP - 1) / UE8M0_GROUP * UE8M0_GROUP : scales;
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
