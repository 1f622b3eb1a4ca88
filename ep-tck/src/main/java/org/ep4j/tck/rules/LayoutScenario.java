package org.ep4j.tck.rules;

import java.util.Set;
import java.util.function.IntUnaryOperator;
import org.ep4j.DataType;
import org.ep4j.DispatchLayout;
import org.ep4j.EpArgumentException;
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
        DispatchLayout seen = buffer.dispatchLayout(new Inputs(context.arena(), workload).ids(context.rank(), type));
        LayoutOracle expected =
                LayoutOracle.of(workload, context.rank(), context.group().plan()::host, Set.of());
        equal("tokensToRank", seen::tokensToRank, expected.tokensToRank());
        equal("tokensToHost", seen::tokensToHost, expected.tokensToHost());
        equal("selections", seen::selections, expected.selections());
        int tokens = workload.tokens(context.rank());
        for (int token = 0; token < tokens; token++) {
            for (int rank = 0; rank < context.size(); rank++) {
                Checks.equal(
                        "goesTo(" + token + ", " + rank + ")",
                        seen.goesTo(token, rank),
                        expected.goesTo()[token][rank]);
            }
        }
        beyond("tokensToRank", () -> seen.tokensToRank(context.size()));
        beyond("tokensToHost", () -> seen.tokensToHost(expected.tokensToHost().length));
        beyond("selections", () -> seen.selections(workload.experts()));
        beyond("goesTo(token)", () -> seen.goesTo(tokens, 0));
        beyond("goesTo(rank)", () -> seen.goesTo(0, context.size()));
    }

    private static void beyond(String what, Runnable access) {
        Checks.refused(EpArgumentException.class, what + " beyond the last index", access);
    }

    private static void equal(String what, IntUnaryOperator seen, int[] expected) {
        for (int i = 0; i < expected.length; i++) {
            Checks.equal(what + "(" + i + ")", seen.applyAsInt(i), expected[i]);
        }
    }
}
