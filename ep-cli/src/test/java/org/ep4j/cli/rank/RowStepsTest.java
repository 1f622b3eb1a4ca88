package org.ep4j.cli.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.tck.oracle.RowTable;
import org.ep4j.tck.oracle.Workload;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;

@Tag("verify")
class RowStepsTest {
    private static final int HIDDEN = 64;
    private static final int EXPERTS = 12;

    /** Rows of a rank, counted one by one. */
    private record Counts(
            int tokens,
            int routed,
            int sent,
            int sentToItself,
            int foreign,
            int selections,
            int expanded,
            int foreignExpanded) {
        static Counts of(Workload workload, int rank) {
            int routed = 0;
            int sent = 0;
            int sentToItself = 0;
            int foreign = 0;
            int selections = 0;
            int expanded = 0;
            int foreignExpanded = 0;
            for (int source = 0; source < workload.ranks(); source++) {
                for (int token = 0; token < workload.tokens(source); token++) {
                    Set<Integer> targets = new HashSet<>();
                    int here = 0;
                    for (int k = 0; k < workload.topK(); k++) {
                        int expert = workload.expert(source, token, k);
                        if (expert < 0) {
                            continue;
                        }
                        targets.add(workload.rankOf(expert));
                        here += workload.rankOf(expert) == rank ? 1 : 0;
                        selections += source == rank ? 1 : 0;
                    }
                    if (source == rank) {
                        routed += targets.isEmpty() ? 0 : 1;
                        sent += targets.size();
                        sentToItself += targets.contains(rank) ? 1 : 0;
                    }
                    foreign += targets.contains(rank) && source != rank ? 1 : 0;
                    expanded += here;
                    foreignExpanded += source != rank ? here : 0;
                }
            }
            return new Counts(
                    workload.tokens(rank), routed, sent, sentToItself, foreign, selections, expanded, foreignExpanded);
        }
    }

    private static ExchangeSpec spec(int ranks, int topK, int tokens) {
        return new ExchangeSpec(
                ranks,
                "host",
                "",
                HIDDEN,
                topK,
                EXPERTS,
                List.of(new Part(Mode.HT, tokens, Wire.BF16, RowLayout.BY_RANK, true)),
                0,
                0,
                0,
                0,
                1,
                false,
                0,
                true,
                1,
                "");
    }

    private static List<Integer> read(List<RowStep> steps) {
        return steps.stream().map(RowStep::read).toList();
    }

    private static List<Integer> written(List<RowStep> steps) {
        return steps.stream().map(RowStep::written).toList();
    }

    @Property(tries = 100)
    void stepsReadAndWriteTheRowsOfTheRank(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 4) int ranks,
            @ForAll @IntRange(min = 1, max = 5) int topK,
            @ForAll @IntRange(min = 0, max = 20) int tokens) {
        Workload workload = Workload.builder(ranks, HIDDEN, EXPERTS, topK)
                .tokens(tokens)
                .seed(seed)
                .dropped(0.2)
                .build();
        for (int rank = 0; rank < ranks; rank++) {
            RowTable received = RowTable.of(workload, rank, RowLayout.BY_RANK, 1, Set.of());
            check(new RowSteps(spec(ranks, topK, tokens), received), Counts.of(workload, rank));
        }
    }

    private static void check(RowSteps steps, Counts counts) {
        List<RowStep> byRank = steps.dispatch(RowLayout.BY_RANK, Wire.BF16);
        assertThat(read(byRank)).containsExactly(counts.tokens);
        assertThat(written(byRank)).containsExactly(counts.sent);
        List<RowStep> byExpert = steps.dispatch(RowLayout.BY_EXPERT, Wire.FP8);
        assertThat(written(byExpert)).containsExactly(counts.sent, counts.expanded);
        assertThat(byExpert).allMatch(step -> step.rowBytes() == HIDDEN);
        assertThat(read(steps.combine())).containsExactly(counts.sent);
        assertThat(written(steps.combine())).containsExactly(counts.tokens);
        assertThat(read(steps.stagedCombine())).containsExactly(counts.foreign, counts.sent);
        assertThat(read(steps.combineOfSelections(false))).containsExactly(counts.foreignExpanded, counts.selections);
        assertThat(written(steps.lowLatencyDispatch(Wire.BF16)))
                .containsExactly(counts.sent - counts.sentToItself, counts.expanded);
        List<RowStep> cast = steps.lowLatencyDispatch(Wire.FP8);
        assertThat(cast.get(0).kind()).isEqualTo(RowStep.Kind.CAST);
        assertThat(cast).allMatch(step -> step.rowBytes() == HIDDEN);
        assertThat(read(cast)).startsWith(counts.routed);
        assertThat(written(cast)).containsExactly(counts.routed, counts.sent - counts.routed, counts.expanded);
        List<RowStep> weighted = steps.combineOfSelections(true);
        assertThat(weighted.get(1).kind()).isEqualTo(RowStep.Kind.WEIGHTED_SUM);
        assertThat(read(weighted)).containsExactly(counts.foreignExpanded, counts.selections);
        assertThat(written(weighted)).containsExactly(counts.foreignExpanded, counts.tokens);
    }
}
