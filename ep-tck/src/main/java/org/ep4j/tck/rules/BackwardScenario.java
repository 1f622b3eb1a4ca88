package org.ep4j.tck.rules;

import java.util.Set;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Workload;

/**
 * A training step: forward dispatch and combine; the gradient of the combined rows goes out along the same routes
 * (backward of combine), the gradients of the experts' inputs come back summed (backward of dispatch).
 */
final class BackwardScenario implements Scenario {
    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        HighThroughputOptions options = HighThroughputOptions.of(context.params());
        EpBuffer buffer = context.buffer(setup.shape());
        Workload forward = setup.workload();
        try (HighThroughputExchange step = new HighThroughputExchange(context, buffer, forward, options, Set.of());
                HighThroughputExchange gradients =
                        new HighThroughputExchange(context, buffer, forward.withData(77), options, Set.of())) {
            DispatchResult result = step.dispatch();
            step.verifier().dispatch(result, step.table(), options.carried());
            step.combine(result.handle());
            step.cachedDispatch(result.handle());
            gradients.combine(result.handle());
        }
    }
}
