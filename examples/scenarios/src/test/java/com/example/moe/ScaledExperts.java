package com.example.moe;

import java.nio.ByteBuffer;
import java.nio.ShortBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.ep4j.DataType;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.ExpertPlacement;

/** Experts that are simple on purpose: expert {@code e} multiplies a row by {@code e + 1}. */
final class ScaledExperts {
    private ScaledExperts() {}

    /** Applies this rank's experts to the rows of a by-rank dispatch, in place: each row becomes the sum over its experts here. */
    static void apply(EpBuffer buffer, DispatchResult sent) {
        int hidden = buffer.shape().hidden();
        int topK = buffer.shape().topK();
        int[] mine = buffer.placement().expertsOf(buffer.group().rank());
        int[] ids = buffer.group().device().ints(sent.topkIds().orElseThrow());
        ByteBuffer bytes = buffer.group().device().view(sent.x().memory());
        ShortBuffer rows = bytes.asShortBuffer();
        for (int row = 0; row < sent.rows(); row++) {
            float factor = 0;
            for (int k = 0; k < topK; k++) {
                int local = ids[row * topK + k];
                factor += local < 0 ? 0 : mine[local] + 1;
            }
            for (int i = row * hidden; i < (row + 1) * hidden; i++) {
                rows.put(i, DataType.toBf16(factor * DataType.fromBf16(rows.get(i))));
            }
        }
    }

    /**
     * Expected result of the combine: the rows of a token, one from each rank, added in FP32 in the order in which the ranks first appear
     * in its top-k list.
     */
    static float[] expected(float[] x, int[] ids, int topK, ExpertPlacement placement, Set<Integer> lost) {
        int hidden = x.length * topK / ids.length;
        float[] sums = new float[x.length];
        for (int token = 0; token < ids.length / topK; token++) {
            List<Integer> ranks = new ArrayList<>();
            float[] factors = new float[topK];
            for (int k = 0; k < topK; k++) {
                int expert = ids[token * topK + k];
                if (expert >= 0 && !lost.contains(placement.rankOf(expert))) {
                    int rank = placement.rankOf(expert);
                    if (!ranks.contains(rank)) {
                        ranks.add(rank);
                    }
                    factors[ranks.indexOf(rank)] += expert + 1;
                }
            }
            for (int i = token * hidden; i < (token + 1) * hidden; i++) {
                for (int place = 0; place < ranks.size(); place++) {
                    sums[i] += Numbers.bf16(factors[place] * x[i]);
                }
                sums[i] = Numbers.bf16(sums[i]);
            }
        }
        return sums;
    }
}
