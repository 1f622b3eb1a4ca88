package org.ep4j.engine.buffer;

import java.util.Optional;
import org.ep4j.DataType;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.Tensor;
import org.ep4j.WireFormat;
import org.ep4j.engine.layout.LocalLayout.LowLatency;
import org.ep4j.engine.layout.ShapeSizes;

/**
 * Format of the rows of a low-latency dispatch, on the wire and at the receiver.
 *
 * @param wire format that the caller asked for
 * @param shape sizes
 */
public record LowLatencyFormat(WireFormat wire, EpShape shape) {
    /** UE8M0 scales are read four at a time. */
    private static final int UE8M0_GROUP = 4;

    /** Returns whether rows have scales. */
    public boolean fp8() {
        return wire.isFp8();
    }

    public DataType rowType() {
        return fp8() ? DataType.FP8_E4M3 : DataType.BF16;
    }

    /** Type of the scales that the receiver gets. */
    public DataType scaleType() {
        return wire == WireFormat.FP8_UE8M0 ? DataType.UE8M0 : DataType.FP32;
    }

    /** Number of scales of a row at the receiver, padding included. */
    public int scaleCount() {
        int scales = shape.scales();
        return wire == WireFormat.FP8_UE8M0 ? (scales + UE8M0_GROUP - 1) / UE8M0_GROUP * UE8M0_GROUP : scales;
    }

    /** Packed rows of a dispatch: in the bank of its number, or the caller's tensor. */
    public Tensor rowTensor(LowLatencyDispatchRequest request, BufferState state, long number) {
        return request.out().isPresent()
                ? request.out().get()
                : state.tensor(
                        number,
                        LowLatency.ROWS,
                        rowType(),
                        state.localExperts(),
                        ShapeSizes.lowLatencyRows(shape, state.ranks()),
                        shape.hidden());
    }

    /** Scales of the packed rows; empty without scales. */
    public Optional<Tensor> scaleTensor(LowLatencyDispatchRequest request, BufferState state, long number) {
        if (!fp8()) {
            return Optional.empty();
        }
        return request.outScales().isPresent()
                ? request.outScales()
                : Optional.of(state.tensor(
                        number,
                        LowLatency.SCALES,
                        scaleType(),
                        state.localExperts(),
                        ShapeSizes.lowLatencyRows(shape, state.ranks()),
                        scaleCount()));
    }

    /** Code of the format in kernels and announcements. */
    public int code() {
        return switch (wire) {
            case BF16 -> 0;
            case FP8 -> 1;
            case FP8_POW2 -> 2;
            case FP8_UE8M0 -> 3;
            case LOGFMT10 -> throw new IllegalStateException("a dispatch of " + wire);
        };
    }
}
