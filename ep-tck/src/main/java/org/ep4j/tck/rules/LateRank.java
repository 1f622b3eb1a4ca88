package org.ep4j.tck.rules;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.ep4j.Tensor;
import org.ep4j.tck.oracle.Arena;
import org.ep4j.tck.ranks.RankContext;

/**
 * Statistics of waiting while rank 1 is late: the others must charge the time to it, and never more than the call took.
 * On a busy machine any rank may have to wait for some hundred milliseconds, so a wrong result is measured again with a
 * delay that outweighs that; all ranks decide alike. Each delay is below the timeout of the kit's groups.
 */
final class LateRank {
    /** Rank that is late. */
    static final int LATE_RANK = 1;

    private static final List<Duration> LATE =
            List.of(Duration.ofMillis(300), Duration.ofMillis(900), Duration.ofMillis(2500), Duration.ofSeconds(10));

    private LateRank() {}

    /**
     * Checks the statistics of a synchronous operation, for which rank 1 is the only one that others wait for.
     *
     * @param operation runs it on this rank, and adds the statistics to the tensor that it is given
     */
    static void isCharged(RankContext context, Arena arena, Consumer<Tensor> operation) {
        Optional<String> wrong = Optional.empty();
        for (Duration late : LATE) {
            wrong = measure(context, arena, operation, late);
            if (context.count(wrong.isEmpty()) == context.size()) {
                return;
            }
        }
        Checks.that(wrong.isEmpty(), wrong.orElse(""));
    }

    /** Returns what is wrong with the statistics of an operation that rank 1 begins late. */
    private static Optional<String> measure(
            RankContext context, Arena arena, Consumer<Tensor> operation, Duration late) {
        Tensor waited = arena.longs(new int[context.size()], context.size());
        context.barrier();
        if (context.isRank(LATE_RANK)) {
            context.sleep(late);
        }
        long start = System.nanoTime();
        operation.accept(waited);
        long took = System.nanoTime() - start;
        long[] seen = arena.device().longs(waited);
        long half = late.toNanos() / 2;
        for (int rank = 0; rank < seen.length; rank++) {
            boolean waitsForIt = rank == LATE_RANK && !context.isRank(LATE_RANK);
            boolean right = waitsForIt ? seen[rank] >= half : seen[rank] >= 0 && seen[rank] < half;
            if (!right || seen[rank] > took) {
                return Optional.of("waitStats[" + rank + "] is " + seen[rank] + " ns, must be "
                        + (waitsForIt ? "from " + half + " to " + took : "from 0 to " + Math.min(half - 1, took))
                        + " ns: the call took " + took + " ns, and rank " + LATE_RANK + " was " + late.toMillis()
                        + " ms late");
            }
        }
        return Optional.empty();
    }
}
