package org.ep4j.cli.report;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.cli.rank.Operations;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.Samples;
import org.ep4j.cli.rank.RankMessage.Validated;

/**
 * Figures of one operation over all ranks and counted rounds. The time of a round is that of its slowest rank; times are
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
 * @param allocatedBytes that one call allocates on the heap of the JVM in its thread, median of all ranks; empty when it was not
 *     measured
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
        Optional<Long> allocatedBytes,
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

    /** Returns figures in the order in which the operations were measured, from the messages of every rank in rank order. */
    public static List<Figures> of(List<List<RankMessage>> messages) {
        Map<String, List<Samples>> samples = RankMessage.all(messages, Samples.class).stream()
                .collect(Collectors.groupingBy(Samples::operation, LinkedHashMap::new, Collectors.toList()));
        Map<String, List<Validated>> validated = RankMessage.all(messages, Validated.class).stream()
                .collect(Collectors.groupingBy(Validated::operation));
        List<Figures> figures = new ArrayList<>();
        samples.forEach((operation, ranks) -> {
            if (!operation.contains(Operations.CEILING)) {
                String prefix = operation + Operations.CEILING;
                Map<String, List<Samples>> ceilings = new LinkedHashMap<>();
                samples.forEach((name, ways) -> {
                    if (name.startsWith(prefix)) {
                        ceilings.put(name.substring(prefix.length()), ways);
                    }
                });
                figures.add(of(ranks, ceilings, validated.getOrDefault(operation, List.of())));
            }
        });
        return figures;
    }

    /**
     * Computes the figures of one operation.
     *
     * @param ranks samples of every rank, in rank order
     * @param ceilings samples of the ceiling in rank order, by the way in which rows were stored; empty when there are none
     * @param validated what the ranks compared
     */
    public static Figures of(List<Samples> ranks, Map<String, List<Samples>> ceilings, List<Validated> validated) {
        Samples first = ranks.get(0);
        List<Long> slowest = slowestOfEachRound(ranks);
        List<Double> medians =
                ranks.stream().map(r -> Quantiles.of(r.nanos(), 0.5) / 1e3).toList();
        int slowestRank = medians.indexOf(medians.stream().max(Double::compare).orElse(0.0));
        double rows = mean(ranks.stream().flatMap(r -> r.rows().stream()).toList());
        double own = mean(ranks.stream().flatMap(r -> r.ownRows().stream()).toList());
        double median = Quantiles.of(slowest, 0.5) / 1e3;
        Map<String, Double> ways = new LinkedHashMap<>();
        ceilings.forEach((way, samples) -> ways.put(way, Quantiles.of(slowestOfEachRound(samples), 0.5) / 1e3));
        Optional<Map.Entry<String, Double>> fastest = ways.entrySet().stream().min(Map.Entry.comparingByValue());
        return new Figures(
                first.operation(),
                slowest.size(),
                rows,
                first.rowBytes(),
                rows * first.rowBytes(),
                (rows - own) * first.rowBytes(),
                median,
                micros(slowest, 99),
                micros(slowest, 0),
                micros(slowest, 100),
                slowestRank,
                medians.get(slowestRank),
                rows * first.rowBytes() / (median * 1e3),
                (rows - own) * first.rowBytes() / (median * 1e3),
                fastest.map(Map.Entry::getValue),
                fastest.map(Map.Entry::getKey).orElse(""),
                fastest.map(f -> f.getValue() / median),
                median(ranks.stream().flatMap(r -> r.allocatedBytes().stream()).toList()),
                validated.stream().mapToLong(Validated::elements).sum(),
                validated.stream()
                        .map(Validated::problem)
                        .filter(p -> !p.isEmpty())
                        .findFirst()
                        .orElse(""),
                medians,
                slowest.stream().map(n -> n / 1e3).toList(),
                Arrays.stream(PERCENTILES)
                        .mapToObj(percent -> new Percentile(percent, micros(slowest, percent)))
                        .toList());
    }

    /** Returns whether nothing differed from the reference. */
    public boolean valid() {
        return problem.isEmpty();
    }

    private static List<Long> slowestOfEachRound(List<Samples> ranks) {
        return Quantiles.slowest(ranks.stream().map(Samples::nanos).toList());
    }

    /** Returns one of the values; empty where there is none. */
    private static Optional<Long> median(List<Long> values) {
        return values.isEmpty() ? Optional.empty() : Optional.of((long) Quantiles.nearestRank(values, 50));
    }

    private static double micros(List<Long> nanos, double percent) {
        return Quantiles.nearestRank(nanos, percent) / 1e3;
    }

    private static double mean(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).average().orElse(0);
    }
}
