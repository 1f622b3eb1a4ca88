package org.ep4j.cli.plan;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.ep4j.EpShape;
import org.ep4j.cli.plan.PlanReport.Variable;
import org.ep4j.plan.Objective;

/**
 * Request of {@code ep plan}.
 *
 * @param simulation how the machine becomes a cluster
 * @param settings settings of every rank
 * @param variables variables of the environment to be explained with the plan
 * @param objective of the planner where no setting names one
 * @param shape of the exchanges; 0 tokens leave a mode out
 * @param fp8 whether dispatches send FP8 rows
 * @param groups groups of experts of which a token chooses {@code topGroups}; 1 for none
 * @param topGroups how many
 * @param thisMachine whether the machine is this one, so that its processor can be asked
 * @param tuned folder with the measurements of {@code ./ep tune} on this machine; empty where there is none
 */
public record PlanRequest(
        SimulatedRanks.Options simulation,
        PlanSettings settings,
        List<Variable> variables,
        Objective objective,
        EpShape shape,
        boolean fp8,
        int groups,
        int topGroups,
        boolean thisMachine,
        Optional<Path> tuned) {}
