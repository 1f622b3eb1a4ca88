package org.ep4j.cli.report;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.ChainSamples;

/**
 * Figures of chains of low-latency pairs on GPUs, over all ranks and counted chains. Times are microseconds; the time of a pair is
 * the time of the counted pairs of a chain, divided by their number.
 *
 * @param operation name of the pair
 * @param tokens T
 * @param way {@code queued} where the host made every call, {@code graph} where graphs were replayed
 * @param chains counted chains
 * @param pairs counted pairs of a chain
 * @param periodMicros time of a pair: median of {@code rankMicros}
 * @param minMicros the smallest of {@code rankMicros}
 * @param maxMicros the largest of {@code rankMicros}
 * @param spread 90th less 10th percentile of {@code chainMicros}, by their median
 * @param drift time of the second half of the counted pairs divided by the time of the first half, less 1: median of all ranks and chains
 * @param rankMicros time of a pair on each rank: median of its chains
 * @param chainMicros time of a pair of every chain, by its slowest rank
 */
public record ChainFigures(
        String operation,
        int tokens,
        String way,
        int chains,
        int pairs,
        double periodMicros,
        double minMicros,
        double maxMicros,
        double spread,
        double drift,
        List<Double> rankMicros,
        List<Double> chainMicros) {
    /** Returns the figures in the order in which chains were measured, from the messages of every rank in rank order. */
    static List<ChainFigures> all(List<List<RankMessage>> messages) {
        Map<String, List<ChainSamples>> samples = RankMessage.all(messages, ChainSamples.class).stream()
                .collect(Collectors.groupingBy(
                        s -> s.operation() + " " + s.tokens() + " " + s.way(),
                        LinkedHashMap::new,
                        Collectors.toList()));
        return samples.values().stream().map(ChainFigures::of).toList();
    }

    private static ChainFigures of(List<ChainSamples> ranks) {
        ChainSamples any = ranks.get(0);
        int pairs = 2 * any.halfPairs();
        List<List<Long>> nanos = ranks.stream().map(ChainFigures::nanos).toList();
        List<Double> medians = nanos.stream()
                .map(rank -> Quantiles.of(rank, 0.5) / 1e3 / pairs)
                .toList();
        List<Double> slowest =
                Quantiles.slowest(nanos).stream().map(n -> n / 1e3 / pairs).toList();
        return new ChainFigures(
                any.operation(),
                any.tokens(),
                any.way(),
                slowest.size(),
                pairs,
                Quantiles.of(medians, 0.5),
                Collections.min(medians),
                Collections.max(medians),
                (Quantiles.of(slowest, 0.9) - Quantiles.of(slowest, 0.1)) / Quantiles.of(slowest, 0.5),
                Quantiles.of(ranks.stream().flatMap(ChainFigures::drifts).toList(), 0.5),
                medians,
                slowest);
    }

    /** Both halves of every chain. */
    private static List<Long> nanos(ChainSamples rank) {
        return IntStream.range(0, rank.firstNanos().size())
                .mapToObj(chain ->
                        rank.firstNanos().get(chain) + rank.secondNanos().get(chain))
                .toList();
    }

    private static Stream<Double> drifts(ChainSamples rank) {
        return IntStream.range(0, rank.firstNanos().size())
                .mapToObj(chain -> (double) rank.secondNanos().get(chain)
                                / rank.firstNanos().get(chain)
                        - 1);
    }
}
