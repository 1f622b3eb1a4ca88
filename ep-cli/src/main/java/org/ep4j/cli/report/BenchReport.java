package org.ep4j.cli.report;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.annotation.Nulls;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.Operations;
import org.ep4j.cli.rank.RankMessage.Sent;
import org.ep4j.plan.Fingerprint;

/**
 * Result of one bench on the host, as it stands in the JSON.
 *
 * @param format version of this file's form; 2 and 3 are those of {@link GpuReport}, 1 has no allocated bytes and no groups
 * @param environment where and how it was measured
 * @param ranks R
 * @param hidden H
 * @param topK K
 * @param experts E
 * @param tokens T of the high-throughput mode; 0 where it was not measured
 * @param lowLatencyTokens T of the low-latency mode; 0 where it was not measured
 * @param dtype what dispatches sent
 * @param layout row order of high-throughput dispatches
 * @param skew exponent of the experts' popularity
 * @param expertGroups groups of experts, of which a token's experts come from a few; 0 where routing has no groups
 * @param groupsPerToken how many
 * @param warmup rounds that did not count
 * @param iterations rounds that did
 * @param seed of data and routing
 * @param operations figures of each operation
 * @param sent what backends that count it have sent, warm-up and validation included
 * @param lowLatencyAdvantage time of the low-latency tokens through the high-throughput mode, by that of the low-latency
 *     dispatch
 */
public record BenchReport(
        int format,
        Environment environment,
        int ranks,
        int hidden,
        int topK,
        int experts,
        int tokens,
        int lowLatencyTokens,
        String dtype,
        String layout,
        double skew,
        int expertGroups,
        int groupsPerToken,
        int warmup,
        int iterations,
        long seed,
        List<Figures> operations,
        List<Sent> sent,
        Optional<Double> lowLatencyAdvantage) {
    private static final int FORMAT = 4;

    /**
     * Conditions of a measurement.
     *
     * @param date in UTC
     * @param ep4j version
     * @param commandLine arguments of ep
     * @param backends backends that the plan used
     * @param device device of every rank
     * @param machine where; its facts stand among the others in the JSON
     * @param rankJvmOptions options of every rank's JVM
     * @param fingerprint of rank 0, on which measured settings depend; empty in files of older builds
     */
    public record Environment(
            String date,
            String ep4j,
            List<String> commandLine,
            List<String> backends,
            String device,
            @JsonUnwrapped HostFacts machine,
            List<String> rankJvmOptions,
            @JsonSetter(nulls = Nulls.AS_EMPTY) Optional<Fingerprint> fingerprint) {}

    public static BenchReport of(Environment environment, ExchangeSpec spec, List<Figures> figures, List<Sent> sent) {
        return new BenchReport(
                FORMAT,
                environment,
                spec.ranks(),
                spec.hidden(),
                spec.topK(),
                spec.experts(),
                tokens(spec, Mode.HT),
                tokens(spec, Mode.LL),
                spec.parts().get(0).wire().name().toLowerCase(Locale.ROOT),
                spec.parts().get(0).layout().name().toLowerCase(Locale.ROOT).replace('_', '-'),
                spec.skew(),
                spec.expertGroups(),
                spec.groupsPerToken(),
                spec.warmup(),
                spec.iterations(),
                spec.seed(),
                figures,
                sent,
                advantage(figures));
    }

    private static int tokens(ExchangeSpec spec, Mode mode) {
        return spec.parts().stream()
                .filter(p -> p.mode() == mode)
                .mapToInt(ExchangeSpec.Part::tokens)
                .max()
                .orElse(0);
    }

    private static Optional<Double> advantage(List<Figures> figures) {
        return median(figures, Operations.LL_DISPATCH)
                .flatMap(low -> median(figures, Operations.LL_BY_HT).map(high -> high / low));
    }

    private static Optional<Double> median(List<Figures> figures, String operation) {
        return figures.stream()
                .filter(f -> f.operation().equals(operation))
                .map(Figures::medianMicros)
                .findFirst();
    }
}
