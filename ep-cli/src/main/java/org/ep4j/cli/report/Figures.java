package org.ep4j.cli.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.HdrHistogram.Histogram;
import org.ep4j.cli.rank.RankMessage.Samples;
import org.ep4j.cli.rank.RankMessage.Validated;

/**
 * What one operation came to over all ranks and counted rounds. The time of a round is that of its slowest rank; times are
 * in microseconds, GB are 1e9 bytes, bytes and rates are those of one rank on average.
 *
 * @param operation its name
 * @param rounds counted rounds
 * @param rows rows that a rank receives in a round
 * @param rowBytes bytes of one
 * @param logicalBytes bytes that a rank receives, from itself too
 * @param wireBytes bytes that a rank receives from others
 * @param medianMicros half of the rounds were faster
 * @param p99Micros 99 of 100 rounds were faster; the slowest round where there are fewer than 100
 * @param minMicros fastest round
 * @param maxMicros slowest round
 * @param slowestRank rank with the largest median of its own
 * @param slowestRankMicros that median
 * @param logicalGigabytesPerSecond logical bytes by median
 * @param wireGigabytesPerSecond wire bytes by median
 * @param ceilingMicros median time of the fastest way to copy and sum the same rows; empty when it was not measured
 * @param ceilingWay that way; empty when it was not measured
 * @param ratioToCeiling {@code ceilingMicros / medianMicros}: 1 is as fast as the ceiling
 * @param validatedElements numbers compared with the reference, on all ranks
 * @param problem first difference found; empty when there was none
 * @param rankMedianMicros median of each rank's own times
 * @param roundMicros time of every round
 * @param percentileMicros distribution over the rounds
 */
public record Figures(
        String operation,
        int rounds,
        double rows,
        long rowBytes,
        double logicalBytes,
        double wireBytes,
        double medianMicros,
        double p99Micros,
        double minMicros,
        double maxMicros,
        int slowestRank,
        double slowestRankMicros,
        double logicalGigabytesPerSecond,
        double wireGigabytesPerSecond,
        Optional<Double> ceilingMicros,
        String ceilingWay,
        Optional<Double> ratioToCeiling,
        long validatedElements,
        String problem,
        List<Double> rankMedianMicros,
        List<Double> roundMicros,
        List<Percentile> percentileMicros) {
    private static final double[] PERCENTILES = {0, 10, 25, 50, 75, 90, 95, 99, 99.9, 100};

    /**
     * A point of a distribution.
     *
     * @param percent share of the rounds
     * @param micros that were at most this slow
     */
    public record Percentile(double percent, double micros) {}

    /**
     * Computes the figures.
     *
     * @param ranks samples of every rank, in rank order
     * @param ceilings samples of the ceiling in rank order, by the way in which rows were stored; empty when there are none
     * @param validated what the ranks compared
     */
    public static Figures of(List<Samples> ranks, Map<String, List<Samples>> ceilings, List<Validated> validated) {
        Samples first = ranks.get(0);
        List<Long> slowest = slowestOfEachRound(ranks);
        Histogram histogram = histogram(slowest);
        List<Double> medians = ranks.stream().map(r -> median(r.nanos()) / 1e3).toList();
        int slowestRank = medians.indexOf(medians.stream().max(Double::compare).orElse(0.0));
        double rows = mean(ranks.stream().flatMap(r -> r.rows().stream()).toList());
        double own = mean(ranks.stream().flatMap(r -> r.ownRows().stream()).toList());
        double median = median(slowest) / 1e3;
        Map<String, Double> ways = new LinkedHashMap<>();
        ceilings.forEach((way, samples) -> ways.put(way, median(slowestOfEachRound(samples)) / 1e3));
        Optional<Map.Entry<String, Double>> fastest = ways.entrySet().stream().min(Map.Entry.comparingByValue());
        List<Percentile> percentiles = new ArrayList<>();
        for (double percent : PERCENTILES) {
            percentiles.add(new Percentile(percent, histogram.getValueAtPercentile(percent) / 1e3));
        }
        return new Figures(
                first.operation(),
                slowest.size(),
                rows,
                first.rowBytes(),
                rows * first.rowBytes(),
                (rows - own) * first.rowBytes(),
                median,
                histogram.getValueAtPercentile(99) / 1e3,
                histogram.getMinValue() / 1e3,
                histogram.getMaxValue() / 1e3,
                slowestRank,
                medians.get(slowestRank),
                rows * first.rowBytes() / (median * 1e3),
                (rows - own) * first.rowBytes() / (median * 1e3),
                fastest.map(Map.Entry::getValue),
                fastest.map(Map.Entry::getKey).orElse(""),
                fastest.map(f -> f.getValue() / median),
                validated.stream().mapToLong(Validated::elements).sum(),
                validated.stream()
                        .map(Validated::problem)
                        .filter(p -> !p.isEmpty())
                        .findFirst()
                        .orElse(""),
                medians,
                slowest.stream().map(n -> n / 1e3).toList(),
                percentiles);
    }

    /** True when nothing differed from the reference. */
    public boolean valid() {
        return problem.isEmpty();
    }

    private static List<Long> slowestOfEachRound(List<Samples> ranks) {
        List<Long> slowest = new ArrayList<>();
        for (int round = 0; round < ranks.get(0).nanos().size(); round++) {
            long most = 0;
            for (Samples rank : ranks) {
                most = Math.max(most, rank.nanos().get(round));
            }
            slowest.add(most);
        }
        return slowest;
    }

    /** Three digits, up to ten minutes. */
    private static Histogram histogram(List<Long> nanos) {
        Histogram histogram = new Histogram(600_000_000_000L, 3);
        nanos.forEach(histogram::recordValue);
        return histogram;
    }

    private static double median(List<Long> values) {
        List<Long> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        if (sorted.isEmpty()) {
            return Double.NaN;
        }
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2.0;
    }

    private static double mean(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).average().orElse(0);
    }
}
