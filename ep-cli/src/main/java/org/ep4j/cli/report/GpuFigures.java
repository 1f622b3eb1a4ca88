package org.ep4j.cli.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.ep4j.EpException;
import org.ep4j.cli.gpu.GpuSpec;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.GpuSamples;
import org.ep4j.cli.rank.RankMessage.Joined;
import org.ep4j.cli.rank.RankMessage.OnGpu;
import org.ep4j.cli.rank.RankMessage.Validated;

/**
 * What one operation came to on GPUs, over all ranks and counted rounds. Times are microseconds, GB are 1e9 bytes, bytes and
 * rates are those of one rank on average.
 *
 * @param operation its name
 * @param tokens T
 * @param sms multiprocessors that move rows in its mode
 * @param rounds counted rounds
 * @param gpuMicros on the GPU: median of all ranks and rounds
 * @param gpuSlowestMicros on the GPU, the slowest rank of each round: median of the rounds
 * @param gpuRankMicros on the GPU: median of each rank
 * @param callMicros from the call until the host saw the end, the slowest rank of each round: median of the rounds
 * @param hostMicros until an asynchronous call returned, in steady state and with few tokens: median of all ranks
 * @param hostP90Micros nine of ten calls returned sooner
 * @param queuedMicros of one of several operations of few tokens, one queued behind the other (a combine with its dispatch): median
 *     of all ranks
 * @param ceilingMicros of the ceiling on the GPU, the slowest rank of each round: median of the rounds; NaN where there is none
 * @param ratioToCeiling {@code gpuSlowestMicros / ceilingMicros}: 1 is as fast as the ceiling
 * @param emptyMicros of one kernel that does nothing, measured in the same way: median of all ranks and rounds
 * @param logicalBytes that a rank receives, from itself too
 * @param wireBytes that a rank receives from others
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
        List<Double> gpuRankMicros,
        double callMicros,
        double hostMicros,
        double hostP90Micros,
        double queuedMicros,
        double ceilingMicros,
        double ratioToCeiling,
        double emptyMicros,
        double logicalBytes,
        double wireBytes,
        double logicalGigabytesPerSecond,
        double wireGigabytesPerSecond,
        List<Double> gpuRoundMicros,
        List<Double> callRoundMicros,
        List<Double> ceilingRoundMicros) {
    /** Puts together what the ranks of one run said, in rank order. */
    public static GpuReport.Run run(GpuSpec spec, List<List<RankMessage>> said) {
        OnGpu gpu = first(said, OnGpu.class);
        Joined joined = first(said, Joined.class);
        Map<String, List<GpuSamples>> samples = new LinkedHashMap<>();
        List<String> problems = new ArrayList<>();
        long elements = 0;
        for (List<RankMessage> rank : said) {
            for (RankMessage message : rank) {
                if (message instanceof GpuSamples s) {
                    samples.computeIfAbsent(s.operation() + " " + s.tokens(), k -> new ArrayList<>())
                            .add(s);
                } else if (message instanceof Validated v) {
                    elements += v.elements();
                    if (!v.problem().isEmpty()) {
                        problems.add(v.operation() + ": " + v.problem());
                    }
                }
            }
        }
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
                elements,
                problems,
                figures);
    }

    private static <T> T first(List<List<RankMessage>> said, Class<T> type) {
        return said.get(0).stream()
                .filter(type::isInstance)
                .map(type::cast)
                .findFirst()
                .orElseThrow(() -> new EpException("rank 0 ended without a " + type.getSimpleName()));
    }

    static GpuFigures of(List<GpuSamples> ranks, int sms) {
        List<Double> gpu = slowest(ranks.stream().map(GpuSamples::gpuNanos).toList());
        List<Double> call = slowest(ranks.stream().map(GpuSamples::callNanos).toList());
        List<Double> ceiling =
                slowest(ranks.stream().map(GpuSamples::ceilingNanos).toList());
        List<Double> host = all(ranks.stream().map(GpuSamples::hostNanos).toList());
        double slowest = quantile(gpu, 0.5);
        double limit = quantile(ceiling, 0.5);
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
                quantile(all(ranks.stream().map(GpuSamples::gpuNanos).toList()), 0.5),
                slowest,
                ranks.stream()
                        .map(r -> quantile(all(List.of(r.gpuNanos())), 0.5))
                        .toList(),
                quantile(call, 0.5),
                quantile(host, 0.5),
                quantile(host, 0.9),
                quantile(all(ranks.stream().map(GpuSamples::queuedNanos).toList()), 0.5),
                limit,
                slowest / limit,
                quantile(all(ranks.stream().map(GpuSamples::emptyNanos).toList()), 0.5),
                logical,
                wire,
                logical / (slowest * 1e3),
                wire / (slowest * 1e3),
                gpu,
                call,
                ceiling);
    }

    private static List<Double> all(List<List<Long>> nanos) {
        return nanos.stream().flatMap(List::stream).map(n -> n / 1e3).toList();
    }

    /** Of every round the most that a rank took. */
    private static List<Double> slowest(List<List<Long>> ranks) {
        List<Double> rounds = new ArrayList<>();
        for (int round = 0; round < ranks.get(0).size(); round++) {
            long most = 0;
            for (List<Long> rank : ranks) {
                most = Math.max(most, rank.get(round));
            }
            rounds.add(most / 1e3);
        }
        return rounds;
    }

    private static double quantile(List<Double> values, double share) {
        if (values.isEmpty()) {
            return Double.NaN;
        }
        List<Double> sorted = values.stream().sorted().toList();
        double place = share * (sorted.size() - 1);
        int below = (int) place;
        int above = Math.min(below + 1, sorted.size() - 1);
        return sorted.get(below) + (place - below) * (sorted.get(above) - sorted.get(below));
    }
}
