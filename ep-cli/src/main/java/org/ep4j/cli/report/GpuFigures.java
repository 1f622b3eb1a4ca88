package org.ep4j.cli.report;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.ep4j.cli.gpu.GpuSpec;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.GpuSamples;
import org.ep4j.cli.rank.RankMessage.Joined;
import org.ep4j.cli.rank.RankMessage.OnGpu;
import org.ep4j.cli.rank.RankMessage.Sent;
import org.ep4j.cli.rank.RankMessage.Validated;

/**
 * Figures of one operation on GPUs, over all ranks and counted rounds. Times are microseconds, GB are 1e9 bytes, bytes and
 * rates are those of one rank on average.
 *
 * @param operation its name
 * @param tokens T
 * @param sms multiprocessors that move rows in its mode
 * @param rounds counted rounds
 * @param gpuMicros on the GPU: median of all ranks and rounds
 * @param gpuSlowestMicros on the GPU, the slowest rank of each round: median of the rounds
 * @param gpuP99Micros on the GPU, the slowest rank of each round: 99 of 100 rounds were at most this slow; the slowest round where
 *     there are fewer than 100; 0 in files of format 2
 * @param gpuRankMicros on the GPU: median of each rank
 * @param callMicros from the call until the host saw the end, the slowest rank of each round: median of the rounds
 * @param hostMicros until an asynchronous call returned, in steady state and with few tokens: median of all ranks; NaN where the call
 *     returns when it is done
 * @param hostP90Micros nine of ten calls returned sooner
 * @param queuedMicros of one of several operations of few tokens, one queued behind the other (a combine with its dispatch): median
 *     of all ranks; NaN where calls return when they are done
 * @param allocatedBytes that one call allocates on the heap of the JVM in its thread, when the code had run many times: median of
 *     all ranks; 0 in files of format 2
 * @param ceilingMicros of the ceiling on the GPU, the slowest rank of each round: median of the rounds; NaN where there is none
 * @param ratioToCeiling {@code gpuSlowestMicros / ceilingMicros}: 1 is as fast as the ceiling
 * @param emptyMicros of one kernel that does nothing, measured in the same way: median of all ranks and rounds
 * @param logicalBytes that a rank receives, from itself too
 * @param wireBytes that a rank receives from others
 * @param sentBytes that a rank sends, by the kind of the path that they take; empty in files of format 2
 * @param logicalGigabytesPerSecond logical bytes by {@code gpuSlowestMicros}
 * @param wireGigabytesPerSecond wire bytes by {@code gpuSlowestMicros}
 * @param gpuRoundMicros {@code gpuSlowestMicros} of every round
 * @param callRoundMicros {@code callMicros} of every round
 * @param ceilingRoundMicros {@code ceilingMicros} of every round
 */
public record GpuFigures(
        String operation,
        int tokens,
        int sms,
        int rounds,
        double gpuMicros,
        double gpuSlowestMicros,
        @JsonSetter(nulls = Nulls.AS_EMPTY) double gpuP99Micros,
        List<Double> gpuRankMicros,
        double callMicros,
        double hostMicros,
        double hostP90Micros,
        double queuedMicros,
        @JsonSetter(nulls = Nulls.AS_EMPTY) double allocatedBytes,
        double ceilingMicros,
        double ratioToCeiling,
        double emptyMicros,
        double logicalBytes,
        double wireBytes,
        @JsonSetter(nulls = Nulls.AS_EMPTY) Map<String, Double> sentBytes,
        double logicalGigabytesPerSecond,
        double wireGigabytesPerSecond,
        List<Double> gpuRoundMicros,
        List<Double> callRoundMicros,
        List<Double> ceilingRoundMicros) {
    /** Puts together the messages of the ranks of one run, in rank order. */
    public static GpuReport.Run run(GpuSpec spec, List<List<RankMessage>> messages) {
        OnGpu gpu = first(messages, OnGpu.class);
        Joined joined = first(messages, Joined.class);
        Map<String, List<GpuSamples>> samples = RankMessage.all(messages, GpuSamples.class).stream()
                .collect(Collectors.groupingBy(
                        s -> s.operation() + " " + s.tokens(), LinkedHashMap::new, Collectors.toList()));
        List<Validated> validated = RankMessage.all(messages, Validated.class);
        List<GpuFigures> figures = samples.values().stream()
                .map(ranks -> of(
                        ranks,
                        ranks.get(0).operation().startsWith("ht.") ? gpu.highThroughputSms() : gpu.lowLatencySms()))
                .toList();
        return new GpuReport.Run(
                spec.sms(),
                gpu,
                joined.backends(),
                joined.symmetricBytes(),
                joined.localBytes(),
                validated.stream().mapToLong(Validated::elements).sum(),
                validated.stream()
                        .filter(v -> !v.problem().isEmpty())
                        .map(v -> v.operation() + ": " + v.problem())
                        .toList(),
                figures,
                ChainFigures.all(messages),
                RankMessage.all(messages, Sent.class));
    }

    private static <T extends RankMessage> T first(List<List<RankMessage>> messages, Class<T> type) {
        return RankMessage.all(messages.subList(0, 1), type).stream()
                .findFirst()
                .orElseThrow(() -> new EpException("rank 0 ended without a " + type.getSimpleName()));
    }

    private static GpuFigures of(List<GpuSamples> ranks, int sms) {
        List<Double> gpu = slowest(ranks, GpuSamples::gpuNanos);
        List<Double> call = slowest(ranks, GpuSamples::callNanos);
        List<Double> ceiling = slowest(ranks, GpuSamples::ceilingNanos);
        double slowest = Quantiles.of(gpu, 0.5);
        double limit = Quantiles.of(ceiling, 0.5);
        double logical =
                ranks.stream().mapToDouble(GpuSamples::logicalBytes).average().orElse(0);
        double wire =
                ranks.stream().mapToDouble(GpuSamples::wireBytes).average().orElse(0);
        GpuSamples first = ranks.get(0);
        return new GpuFigures(
                first.operation(),
                first.tokens(),
                sms,
                gpu.size(),
                quantile(ranks, GpuSamples::gpuNanos, 0.5),
                slowest,
                Quantiles.nearestRank(gpu, 99),
                ranks.stream()
                        .map(r -> quantile(List.of(r), GpuSamples::gpuNanos, 0.5))
                        .toList(),
                Quantiles.of(call, 0.5),
                quantile(ranks, GpuSamples::hostNanos, 0.5),
                quantile(ranks, GpuSamples::hostNanos, 0.9),
                quantile(ranks, GpuSamples::queuedNanos, 0.5),
                Quantiles.nearestRank(
                        ranks.stream().flatMap(r -> r.allocatedBytes().stream()).toList(), 50),
                limit,
                slowest / limit,
                quantile(ranks, GpuSamples::emptyNanos, 0.5),
                logical,
                wire,
                ranks.stream()
                        .flatMap(r -> r.sentBytes().entrySet().stream())
                        .collect(Collectors.groupingBy(
                                Map.Entry::getKey,
                                TreeMap::new,
                                Collectors.summingDouble(sent -> sent.getValue() / ranks.size()))),
                logical / (slowest * 1e3),
                wire / (slowest * 1e3),
                gpu,
                call,
                ceiling);
    }

    private static double quantile(List<GpuSamples> ranks, Function<GpuSamples, List<Long>> nanos, double share) {
        return Quantiles.of(micros(ranks.stream().map(nanos).flatMap(List::stream)), share);
    }

    private static List<Double> slowest(List<GpuSamples> ranks, Function<GpuSamples, List<Long>> nanos) {
        return micros(Quantiles.slowest(ranks.stream().map(nanos).toList()).stream());
    }

    private static List<Double> micros(Stream<Long> nanos) {
        return nanos.map(n -> n / 1e3).toList();
    }
}
