package org.ep4j.tck.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.ep4j.DispatchHandle;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Workload;

/**
 * A training step of two batches: forward dispatch and combine of both, then in reverse the way back: the gradient of the combined
 * rows goes out along the same routes (backward of combine), in rows of another type where {@code gradients} says so, and the
 * gradients of the experts' inputs and of the weights come back summed (backward of dispatch).
 */
final class BackwardScenario implements Scenario {
    private static final int BATCHES = 2;

    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        HighThroughputOptions rows = HighThroughputOptions.of(context.params());
        HighThroughputOptions gradients = HighThroughputOptions.ofGradients(context.params());
        EpBuffer buffer = context.buffer(setup.shape());
        List<DispatchHandle> handles = new ArrayList<>();
        for (int batch = 0; batch < BATCHES; batch++) {
            try (HighThroughputExchange step =
                    new HighThroughputExchange(context, buffer, workload(setup, batch), rows, Set.of())) {
                DispatchResult result = step.dispatch();
                step.verifier().dispatch(result, step.table(), rows.carried());
                handles.add(result.handle());
                step.combine(result.handle());
            }
        }
        for (int batch = BATCHES - 1; batch >= 0; batch--) {
            Workload back = workload(setup, batch).withData(77 + 10L * batch);
            try (HighThroughputExchange step = new HighThroughputExchange(context, buffer, back, gradients, Set.of())) {
                step.cachedDispatch(handles.get(batch));
                step.combine(handles.get(batch));
            }
        }
    }

    private static Workload workload(Setup setup, int batch) {
        return setup.workload(1L + batch);
    }
}
