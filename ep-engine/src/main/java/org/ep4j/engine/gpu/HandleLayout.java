package org.ep4j.engine.gpu;

import org.ep4j.EpShape;

/** Sizes of handles in device memory, by the formulas of {@code EP_HANDLE_BYTES} and {@code EP_LL_HANDLE_BYTES} in op.cu. */
final class HandleLayout {
    private HandleLayout() {}

    /** Bytes of a high-throughput handle. */
    static long highThroughput(EpShape shape, int ranks) {
        if (shape.maxTokens() == 0) {
            return 0;
        }
        long selections = (long) shape.maxTokens() * shape.topK();
        long capacity = shape.receiveCapacity(ranks);
        return 256
                + 3 * aligned(4 * selections)
                + 2 * aligned(4 * capacity)
                + 2 * aligned(4 * capacity * shape.topK())
                + aligned(4L * ranks)
                + aligned(4L * shape.experts())
                + aligned(8L * (shape.experts() + 1))
                + 3 * aligned(4L * ranks);
    }

    /** Bytes of a low-latency handle. */
    static long lowLatency(EpShape shape, int ranks) {
        if (shape.maxLowLatencyTokens() == 0) {
            return 0;
        }
        long selections = (long) shape.maxLowLatencyTokens() * shape.topK();
        long messages = shape.lowLatencyRows(ranks);
        return 256
                + 3 * aligned(4 * selections)
                + aligned(4L * ranks)
                + aligned(4 * messages)
                + 2 * aligned(4 * messages * shape.topK());
    }

    private static long aligned(long bytes) {
        return (bytes + 255) / 256 * 256;
    }
}
