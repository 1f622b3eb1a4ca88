package org.ep4j.engine.host;

import java.util.Arrays;
import org.ep4j.DataType;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.Tensor;
import org.ep4j.engine.buffer.ExpertIds;
import org.ep4j.engine.buffer.TensorArgs;
import org.ep4j.engine.memory.HostMemory;
import org.ep4j.engine.sync.Mask;

/**
 * Where one rank's tokens go. Immutable once built; arrays are shared inside the package and not changed.
 *
 * @param tokens T
 * @param topK K
 * @param idType type that the caller gave ids in
 * @param ids {@code [T * K]} expert ids; -1 where there is none or its rank is masked
 * @param firstTarget {@code [T + 1]}: first target of each token in {@code targets}
 * @param targets ranks that hold an expert of a token, each once, in the order in which they appear in its top-k list
 * @param rowsTo {@code [R]}: tokens for each rank
 */
@SuppressWarnings("ArrayRecordComponent") // loops over tokens index these; equality is not asked of it
record Routing(int tokens, int topK, DataType idType, int[] ids, int[] firstTarget, int[] targets, int[] rowsTo) {
    /** Reads and checks ids; {@code memory} gives access to them. */
    static Routing of(
            Tensor topkIds, HostMemory memory, int tokens, EpShape shape, ExpertPlacement placement, Mask mask) {
        int topK = shape.topK();
        new TensorArgs(Device.HOST).ids(topkIds, tokens, topK);
        int[] ids = new int[tokens * topK];
        if (topkIds.type() == DataType.INT32) {
            memory.getInts(0, ids, 0, ids.length);
        } else {
            long[] wide = new long[ids.length];
            memory.getLongs(0, wide, 0, wide.length);
            for (int i = 0; i < ids.length; i++) {
                ids[i] = wide[i] == (int) wide[i] ? (int) wide[i] : Integer.MIN_VALUE;
            }
        }
        int[] firstTarget = new int[tokens + 1];
        int[] targets = new int[tokens * Math.min(topK, placement.ranks())];
        int[] rowsTo = new int[placement.ranks()];
        int[] lastToken = new int[placement.ranks()];
        Arrays.fill(lastToken, -1);
        int next = 0;
        for (int t = 0; t < tokens; t++) {
            for (int k = 0; k < topK; k++) {
                int i = t * topK + k;
                if (ids[i] == -1) {
                    continue;
                }
                if (ids[i] < 0 || ids[i] >= shape.experts()) {
                    throw outOfRange(memory, topkIds.type(), t, k, topK, shape.experts());
                }
                int owner = placement.rankOf(ids[i]);
                if (mask.has(owner)) {
                    ids[i] = -1;
                } else if (lastToken[owner] != t) {
                    lastToken[owner] = t;
                    targets[next++] = owner;
                    rowsTo[owner]++;
                }
            }
            firstTarget[t + 1] = next;
        }
        return new Routing(tokens, topK, topkIds.type(), ids, firstTarget, Arrays.copyOf(targets, next), rowsTo);
    }

    /** What is done for a token and its index in {@code targets}. */
    interface Sending {
        void send(int token, int index);
    }

    /** For each token that goes to {@code target}, in their order. */
    void forEachTo(int target, Sending work) {
        if (rowsTo[target] == 0) {
            return;
        }
        for (int t = 0; t < tokens; t++) {
            for (int i = firstTarget[t]; i < firstTarget[t + 1]; i++) {
                if (targets[i] == target) {
                    work.send(t, i);
                }
            }
        }
    }

    private static EpArgumentException outOfRange(
            HostMemory memory, DataType type, int t, int k, int topK, int experts) {
        long i = (long) t * topK + k;
        long value = type == DataType.INT32 ? memory.getInt(4 * i) : memory.getLong(8 * i);
        return ExpertIds.outOfRange(t, k, value, experts);
    }
}
