package org.ep4j.cli.gpu;

import java.util.Collections;
import java.util.List;
import org.ep4j.EpConfig;
import org.ep4j.RowLayout;
import org.ep4j.cli.gpu.GpuOperation.Rows;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.config.EpKeys;

/**
 * Work of the ranks of one measurement on GPUs; the same text for all of them.
 *
 * @param work ranks, model and routing; where it validates, its own rounds come first, which compare with the reference
 * @param tokens T on every rank, one after another, in high throughput
 * @param lowLatencyTokens likewise in low latency
 * @param sms {@code ep.gpu.sms}; 0 for the value that it has without this measurement
 * @param lowLatencySms {@code ep.gpu.low-latency.sms}; likewise
 * @param operations what is measured
 * @param warmup rounds that do not count
 * @param iterations rounds that do
 * @param chainTokens T on every rank for which chains of low-latency pairs are measured; empty to leave them out
 */
public record GpuSpec(
        ExchangeSpec work,
        List<Integer> tokens,
        List<Integer> lowLatencyTokens,
        int sms,
        int lowLatencySms,
        List<GpuOperation> operations,
        int warmup,
        int iterations,
        List<Integer> chainTokens) {
    /** Settings of the {@code localRank}-th process of its host. */
    EpConfig.Builder settings(int localRank) {
        EpConfig.Builder settings = work.settings(localRank);
        if (sms > 0) {
            settings.set(EpKeys.GPU_SMS.name(), sms);
        }
        if (lowLatencySms > 0) {
            settings.set(EpKeys.LOW_LATENCY_SMS.name(), lowLatencySms);
        }
        return settings;
    }

    public List<Integer> tokens(Mode mode) {
        return mode == Mode.HT ? tokens : lowLatencyTokens;
    }

    /** The most tokens of a mode; 0 when nothing of it is measured. */
    int maxTokens(Mode mode) {
        return uses(mode) ? Collections.max(tokens(mode)) : 0;
    }

    boolean uses(Mode mode) {
        return operations.stream().anyMatch(o -> o.mode() == mode);
    }

    /** Operations whose chains are measured. */
    List<GpuOperation> chained() {
        return pairs(operations);
    }

    /** Returns those of {@code operations} that chains consist of: a low-latency dispatch of FP8 rows, and a combine. */
    public static List<GpuOperation> pairs(List<GpuOperation> operations) {
        return operations.stream()
                .filter(o -> o == GpuOperation.LL_BOTH || o == GpuOperation.LL_BOTH_PARTIAL)
                .toList();
    }

    /** Number of chains to be measured, which come first. */
    int chains() {
        return chained().size() * chainTokens.size();
    }

    /** Number of everything to be measured. */
    int steps() {
        return chains()
                + operations.stream().mapToInt(o -> tokens(o.mode()).size()).sum();
    }

    /** Parts that compare what {@code operations} move with the reference; small, since the reference is slow. */
    public static List<Part> compared(
            List<GpuOperation> operations, List<Integer> tokens, List<Integer> lowLatencyTokens) {
        boolean halves = operations.stream().anyMatch(GpuOperation::isHalf);
        return operations.stream()
                .map(o -> new Part(
                        o.mode(),
                        Math.min(256, Collections.max(o.mode() == Mode.HT ? tokens : lowLatencyTokens)),
                        o.sent == Rows.FP8 && o.returned == Rows.NONE ? Wire.FP8 : Wire.BF16,
                        o.layout(),
                        o.mode() == Mode.HT ? o.layout() == RowLayout.BY_EXPERT : halves))
                .distinct()
                .toList();
    }
}
