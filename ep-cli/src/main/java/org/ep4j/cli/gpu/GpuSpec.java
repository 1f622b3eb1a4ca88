package org.ep4j.cli.gpu;

import java.util.List;
import org.ep4j.cli.rank.WorkSpec;
import org.ep4j.cli.rank.WorkSpec.Mode;
import tools.jackson.databind.json.JsonMapper;

/**
 * What the ranks of one measurement on GPUs do; the same text for all of them.
 *
 * @param ranks number of ranks
 * @param device type of the device, with or without a number; empty for each rank's own setting
 * @param backend backend that alone may be used; empty for any
 * @param hidden H
 * @param topK K
 * @param experts E
 * @param skew exponent of the experts' popularity, 0 is uniform
 * @param tokens T on every rank, one after another, in high throughput
 * @param lowLatencyTokens likewise in low latency
 * @param sms {@code ep.gpu.sms}; 0 for the default
 * @param lowLatencySms {@code ep.gpu.low-latency.sms}; 0 for the default
 * @param operations what is measured
 * @param warmup rounds that do not count
 * @param iterations rounds that do
 * @param validate true to compare a round of every mode with the reference first
 * @param seed of data and routing
 * @param barrierFile file through which the ranks meet
 */
public record GpuSpec(
        int ranks,
        String device,
        String backend,
        int hidden,
        int topK,
        int experts,
        double skew,
        List<Integer> tokens,
        List<Integer> lowLatencyTokens,
        int sms,
        int lowLatencySms,
        List<GpuOperation> operations,
        int warmup,
        int iterations,
        boolean validate,
        long seed,
        String barrierFile) {
    public List<Integer> tokens(Mode mode) {
        return mode == Mode.HT ? tokens : lowLatencyTokens;
    }

    /** The most tokens of a mode; 0 when nothing of it is measured. */
    int maxTokens(Mode mode) {
        return uses(mode)
                ? tokens(mode).stream().mapToInt(Integer::intValue).max().orElse(0)
                : 0;
    }

    boolean uses(Mode mode) {
        return operations.stream().anyMatch(o -> o.mode() == mode);
    }

    /** Places of a token on its way to ranks. */
    int targets() {
        return Math.min(ranks, topK);
    }

    /** Rounds of demo's kind that compare everything with the reference; small, since the reference is slow. */
    WorkSpec validation() {
        List<WorkSpec.Part> parts = operations.stream()
                .map(o -> new WorkSpec.Part(
                        o.mode(),
                        Math.min(256, maxTokens(o.mode())),
                        o.rows() == GpuOperation.Rows.FP8 ? WorkSpec.Wire.FP8 : WorkSpec.Wire.BF16,
                        false))
                .distinct()
                .toList();
        return new WorkSpec(
                ranks,
                device,
                backend,
                hidden,
                topK,
                experts,
                parts,
                skew,
                org.ep4j.RowLayout.BY_RANK,
                0,
                1,
                true,
                1,
                false,
                seed,
                barrierFile);
    }

    /** As text for a command line. */
    public String encode() {
        return JsonMapper.shared().writeValueAsString(this);
    }

    public static GpuSpec decode(String text) {
        return JsonMapper.shared().readValue(text, GpuSpec.class);
    }
}
