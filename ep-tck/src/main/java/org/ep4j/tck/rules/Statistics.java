package org.ep4j.tck.rules;

import java.util.Arrays;
import java.util.function.IntUnaryOperator;
import org.ep4j.DataType;
import org.ep4j.Tensor;
import org.ep4j.tck.oracle.Arena;

/** Tensors to which one operation adds its statistics. */
final class Statistics {
    private static final int COUNTED_BEFORE = 1000;

    /** For {@code expertStats}. */
    final Tensor counted;

    /** For {@code waitStats}. */
    final Tensor waited;

    private final Arena arena;

    Statistics(Arena arena, int localExperts, int ranks) {
        this.arena = arena;
        int[] before = new int[localExperts];
        Arrays.fill(before, COUNTED_BEFORE);
        counted = arena.ints(before, localExperts);
        waited = arena.allocate(DataType.INT64, ranks);
    }

    /** Checks both; {@code selections} gives those that a local expert has received. */
    void check(IntUnaryOperator selections) {
        int[] counts = arena.device().ints(counted);
        for (int e = 0; e < counts.length; e++) {
            Checks.equal("expertStats[" + e + "]", counts[e], COUNTED_BEFORE + selections.applyAsInt(e));
        }
        checkWaits();
    }

    void checkWaits() {
        for (long nanos : arena.device().longs(waited)) {
            Checks.that(nanos >= 0 && nanos < Checks.patience().toNanos(), "waitStats holds " + nanos + " ns");
        }
    }
}
