package org.ep4j.examples.moe;

import java.util.Arrays;
import org.ep4j.DataType;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;

/** Experts in plain Java. */
final class HostExperts implements Experts {
    private final Weights weights;
    private final EpBuffer buffer;
    private final Memory memory;

    HostExperts(Weights weights, EpBuffer buffer) {
        this.weights = weights;
        this.buffer = buffer;
        this.memory = new Memory(buffer.group().device());
    }

    @Override
    public Tensor apply(DispatchResult arrived) {
        int hidden = weights.hidden();
        short[] rows = memory.readShorts(arrived.x());
        float[] shares = memory.readFloats(arrived.topkWeights().orElseThrow());
        long[] offsets = memory.readLongs(arrived.expertOffsets());
        short[] results = new short[rows.length];
        short[] result = new short[hidden];
        for (int expert = 0; expert < weights.experts(); expert++) {
            if (buffer.placement().rankOf(expert) != buffer.group().rank()) {
                continue;
            }
            int local = buffer.placement().localIndex(expert);
            for (int row = (int) offsets[local]; row < offsets[local + 1]; row++) {
                short[] x = Arrays.copyOfRange(rows, row * hidden, (row + 1) * hidden);
                weights.apply(expert, x, shares[row], result);
                System.arraycopy(result, 0, results, row * hidden, hidden);
            }
        }
        Tensor out = memory.allocate(DataType.BF16, arrived.rows(), hidden);
        memory.write(out, results);
        return out;
    }

    @Override
    public Tensor apply(LowLatencyDispatchResult arrived, Tensor out) {
        int hidden = weights.hidden();
        int capacity = (int) arrived.x().dim(1);
        short[] rows = memory.readShorts(arrived.x());
        int[] counts = memory.readInts(arrived.counts());
        short[] results = new short[rows.length];
        short[] result = new short[hidden];
        for (int expert = 0; expert < weights.experts(); expert++) {
            if (buffer.placement().rankOf(expert) != buffer.group().rank()) {
                continue;
            }
            int local = buffer.placement().localIndex(expert);
            for (int row = local * capacity; row < local * capacity + counts[local]; row++) {
                short[] x = Arrays.copyOfRange(rows, row * hidden, (row + 1) * hidden);
                weights.apply(expert, x, 1, result);
                System.arraycopy(result, 0, results, row * hidden, hidden);
            }
        }
        memory.write(out, results);
        return out;
    }

    @Override
    public void close() {
        memory.close();
    }
}
