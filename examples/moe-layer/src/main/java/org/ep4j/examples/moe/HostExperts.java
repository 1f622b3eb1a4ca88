package org.ep4j.examples.moe;

import java.util.Arrays;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpDevice;
import org.ep4j.Tensor;
import org.ep4j.TensorArena;

/** Experts in plain Java. */
final class HostExperts implements Experts {
    private final Weights weights;
    private final EpBuffer buffer;
    private final EpDevice device;
    private final TensorArena arena;

    HostExperts(Weights weights, EpBuffer buffer) {
        this.weights = weights;
        this.buffer = buffer;
        this.device = buffer.group().device();
        this.arena = device.arena();
    }

    @Override
    public Tensor apply(DispatchResult arrived) {
        int hidden = weights.hidden();
        float[] rows = device.floats(arrived.x());
        float[] shares = device.floats(arrived.topkWeights().orElseThrow());
        long[] offsets = device.longs(arrived.expertOffsets());
        float[] results = new float[rows.length];
        float[] result = new float[hidden];
        for (int expert = 0; expert < weights.experts(); expert++) {
            if (buffer.placement().rankOf(expert) != buffer.group().rank()) {
                continue;
            }
            int local = buffer.placement().localIndex(expert);
            for (int row = (int) offsets[local]; row < offsets[local + 1]; row++) {
                float[] x = Arrays.copyOfRange(rows, row * hidden, (row + 1) * hidden);
                weights.apply(expert, x, shares[row], result);
                System.arraycopy(result, 0, results, row * hidden, hidden);
            }
        }
        return arena.bf16(results, arrived.rows(), hidden);
    }

    @Override
    public void close() {
        arena.close();
    }
}
