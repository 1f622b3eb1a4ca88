package org.ep4j.cli.report;

import java.util.List;
import java.util.stream.IntStream;

/** Quantiles of measured times. */
final class Quantiles {
    private Quantiles() {}

    /** Interpolates between the two nearest values, for a share of 0 to 1; NaN where there is no value. */
    static double of(List<? extends Number> values, double share) {
        double[] sorted = sorted(values);
        if (sorted.length == 0) {
            return Double.NaN;
        }
        double place = share * (sorted.length - 1);
        int below = (int) place;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
    }

    /**
     * The smallest value that at least {@code percent} (0 to 100) of the values do not exceed: 0 gives the smallest, 100 the
     * largest; NaN where there is no value.
     */
    static double nearestRank(List<? extends Number> values, double percent) {
        double[] sorted = sorted(values);
        if (sorted.length == 0) {
            return Double.NaN;
        }
        // The next smaller number, since the product of an exact share can be rounded up to more than a whole number.
        int rank = (int) Math.ceil(Math.nextDown(percent) * sorted.length / 100);
        return sorted[Math.max(rank, 1) - 1];
    }

    private static double[] sorted(List<? extends Number> values) {
        return values.stream().mapToDouble(Number::doubleValue).sorted().toArray();
    }

    /** The longest time of any rank in each round. */
    static List<Long> slowest(List<List<Long>> ranks) {
        return IntStream.range(0, ranks.get(0).size())
                .mapToObj(round ->
                        ranks.stream().mapToLong(rank -> rank.get(round)).max().orElse(0))
                .toList();
    }
}
