package org.ep4j.cli.plan;

import java.util.List;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.PlanOptions;

/**
 * What {@code ep plan} is asked.
 *
 * @param simulation how the machine becomes a cluster
 * @param options what is wished of backends, NICs and paths
 * @param config settings that ranks would have
 * @param settings settings of this process that count, for people
 * @param hidden H
 * @param experts E
 * @param topK K
 * @param tokens T of the high-throughput mode; 0 leaves it out
 * @param lowLatencyTokens T of the low-latency mode; 0 leaves it out
 * @param fp8 whether dispatches send FP8 rows
 * @param groups groups of experts of which a token chooses {@code topGroups}; 1 for none
 * @param topGroups how many
 */
public record PlanRequest(
        SimulationOptions simulation,
        PlanOptions options,
        EpConfig config,
        List<String> settings,
        int hidden,
        int experts,
        int topK,
        int tokens,
        int lowLatencyTokens,
        boolean fp8,
        int groups,
        int topGroups) {
    /** Copies the list. */
    public PlanRequest {
        settings = List.copyOf(settings);
    }
}
