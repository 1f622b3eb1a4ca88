package org.ep4j.tck.rules;

import java.util.Arrays;
import java.util.Set;
import org.ep4j.DataType;
import org.ep4j.DispatchLayout;
import org.ep4j.EpBuffer;
import org.ep4j.tck.crew.RankContext;
import org.ep4j.tck.crew.Scenario;
import org.ep4j.tck.oracle.Inputs;
import org.ep4j.tck.oracle.LayoutOracle;
import org.ep4j.tck.oracle.Workload;

/** The local count of where tokens would go. */
final class LayoutScenario implements Scenario {
    @Override
    public void run(RankContext context) {
        Setup setup = new Setup(context.params(), context.size());
        Workload workload = setup.workload();
        EpBuffer buffer = context.buffer(setup.shape());
        DataType type = context.params().has("id64") ? DataType.INT64 : DataType.INT32;
        DispatchLayout seen = buffer.layout(new Inputs(context.arena(), workload).ids(context.rank(), type));
        DispatchLayout expected =
                LayoutOracle.of(workload, context.rank(), context.group().plan()::host, Set.of());
        equal("tokensPerRank", seen.tokensPerRank(), expected.tokensPerRank());
        equal("tokensPerHost", seen.tokensPerHost(), expected.tokensPerHost());
        equal("selectionsPerExpert", seen.selectionsPerExpert(), expected.selectionsPerExpert());
        Checks.that(
                Arrays.deepEquals(seen.tokenOnRank(), expected.tokenOnRank()),
                "tokenOnRank is " + Arrays.deepToString(seen.tokenOnRank()) + ", must be "
                        + Arrays.deepToString(expected.tokenOnRank()));
    }

    private static void equal(String what, int[] seen, int[] expected) {
        Checks.equal(what, Arrays.toString(seen), Arrays.toString(expected));
    }
}
