package org.ep4j.cli.plan;

import java.util.List;
import org.ep4j.plan.Objective;

/**
 * What {@code ep plan} is asked.
 *
 * @param simulation how the machine becomes a cluster
 * @param settings settings of every rank
 * @param variables variables of the environment to be explained with the plan
 * @param objective what paths are to be good at where no setting says
 * @param hidden H
 * @param experts E
 * @param topK K
 * @param tokens T of the high-throughput mode; 0 leaves it out
 * @param lowLatencyTokens T of the low-latency mode; 0 leaves it out
 * @param fp8 whether dispatches send FP8 rows
 * @param groups groups of experts of which a token chooses {@code topGroups}; 1 for none
 * @param topGroups how many
 * @param thisMachine whether the machine is this one, so that its processor can be asked
 */
public record PlanRequest(
        SimulationOptions simulation,
        PlanSettings settings,
        List<EnvironmentVariable> variables,
        Objective objective,
        int hidden,
        int experts,
        int topK,
        int tokens,
        int lowLatencyTokens,
        boolean fp8,
        int groups,
        int topGroups,
        boolean thisMachine) {}
