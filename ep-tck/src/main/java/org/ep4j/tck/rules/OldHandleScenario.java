package org.ep4j.tck.rules;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.ep4j.DispatchHandle;
import org.ep4j.EpBuffer;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;

/** Several handles of one buffer, each combined and dispatched again after all the others, in both orders of rows. */
final class OldHandleScenario implements Scenario {
    private static final int HANDLES = 5;

    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        EpBuffer buffer = context.buffer(setup.shape());
        HighThroughputOptions options = HighThroughputOptions.of(context.params());
        List<HighThroughputExchange> exchanges = new ArrayList<>();
        List<DispatchHandle> handles = new ArrayList<>();
        for (int i = 0; i < HANDLES; i++) {
            HighThroughputExchange exchange = context.owned(
                    new HighThroughputExchange(context, buffer, setup.workload(50L + i), options, Set.of()));
            exchanges.add(exchange);
            handles.add(exchange.dispatch().handle());
        }
        for (int i = HANDLES - 1; i >= 0; i--) {
            exchanges.get(i).combine(handles.get(i));
            exchanges.get(i).cachedDispatch(handles.get(i));
        }
    }
}
