package org.ep4j.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.tck.Outcome;
import org.ep4j.tck.RankMode;
import org.ep4j.tck.RuleBook;
import org.ep4j.tck.RuleResult;
import org.ep4j.tck.RuleRunner;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every fault breaks the rules that concern it, and no others, with a message that names it. */
@Tag("verify")
class FaultTest {
    private static final int RANKS = 3;

    /** Sample rules: at least one for everything that a fault below affects. */
    private static final List<String> SENTINELS = List.of(
            "1.5", "2.5", "2.12", "2.13", "3.1", "3.11", "3.15", "3.18", "3.20", "3.23", "3.25", "3.29", "3.41", "3.42",
            "3.46", "3.52", "3.70", "3.75", "4.1", "4.20", "4.33", "4.37", "4.42", "4.44", "4.55", "4.56", "4.60",
            "5.20", "5.43", "6.9");

    /** Sentinels that run against every fault; the tier "verify" runs these, and the sentinels that the fault must break. */
    private static final List<String> BYSTANDERS = List.of("1.5", "3.1", "4.1");

    /** Sentinels that compare rows of the by-rank layout. */
    private static final String BY_RANK = "2.12 3.1 3.11 3.15 3.18 3.20 3.23 3.25 3.29 3.75 5.20 5.43 6.9";

    /** Sentinels that compare rows of the by-expert layout. */
    private static final String BY_EXPERT = "3.41 3.42 3.46 3.52 6.9";

    /** Sentinels that compare rows of high throughput. */
    private static final String HIGH =
            "2.12 3.1 3.11 3.15 3.18 3.20 3.23 3.25 3.29 3.41 3.42 3.46 3.52 3.75 5.20 5.43 6.9";

    /** Sentinels that compare rows of low latency. */
    private static final String LOW = "4.1 4.20 4.33 4.37 4.55 4.56 4.60 5.20 5.43 6.9";

    private static TckSubject faulty(Class<? extends GroupFactory> factory) {
        return TckSubject.of("host-shm", "host").with(factory);
    }

    static Stream<Arguments> faults() {
        return Stream.of(
                caught(BehaviourFaults.None.class, "", ""),
                caught(RowFaults.FlipsBitOnRankOne.class, HIGH, "rank 1 FAILED: java.lang.AssertionError: x[row "),
                caught(RowFaults.LosesRow.class, BY_EXPERT, "x[row "),
                caught(RowFaults.RepeatsRow.class, BY_RANK, "x[row 1, from rank "),
                caught(RowFaults.SwapsRows.class, BY_RANK, "x[row 0, from rank "),
                caught(RowFaults.SwapsScales.class, "3.20", "scales[row "),
                caught(RowFaults.CountsTokensFromOne.class, HIGH, "sourceTokens[0] is "),
                caught(RowFaults.WrongWeight.class, BY_EXPERT, "topkWeights[row "),
                caught(RowFaults.FlatWeights.class, BY_RANK, "topkWeights is FP32["),
                caught(RowFaults.WrongLocalId.class, "3.11", "topkIds[row 0][0] is "),
                caught(RowFaults.WrongDeviceCount.class, HIGH, "rowsPerExpert[0] is "),
                caught(RowFaults.WrongOffset.class, BY_EXPERT, "expertOffsets[1] is "),
                caught(RowFaults.LeavesPadding.class, "3.42", "padding][channel 127] is "),
                caught(RowFaults.DirtyTail.class, "3.23", "sourceRanks["),
                caught(RowFaults.IgnoresAlignment.class, HIGH, "hostRowsPerExpert["),
                caught(RowFaults.SumsOnTheWrongRank.class, BY_EXPERT, "combined out[token "),
                caught(RowFaults.WrongReturnedWeight.class, "3.46", "combined weights[token 0][0] is "),
                caught(RowFaults.FlipsPackedBit.class, LOW, "rank 0 FAILED: java.lang.AssertionError: x[expert 0]"),
                caught(RowFaults.WrongPackedCount.class, LOW, "rowsPerExpert[0] is "),
                caught(RowFaults.WrongRange.class, LOW, "layoutRanges[expert 0][rank 1] is "),
                caught(RowFaults.WrongScale.class, "4.20", "scales[expert 0]"),
                caught(
                        RowFaults.WrongCombinedBit.class,
                        "4.1 4.20 4.37 4.44 4.55 4.56 4.60 5.20 5.43 6.9",
                        "combined out[token 0][channel 0] is "),
                caught(RowFaults.RoundsAlways.class, "4.37", "combined out[token "),
                caught(BehaviourFaults.LeakyBarrier.class, "2.13", "left the barrier"),
                caught(BehaviourFaults.WrongSizeHint.class, "2.5", "size() of a buffer"),
                caught(BehaviourFaults.TooFewRows.class, "2.5 3.23", "maxRows(BY_RANK, "),
                caught(BehaviourFaults.TooFewLowLatencyRows.class, "2.5", "maxLowLatencyRows() is "),
                caught(BehaviourFaults.WideLayout.class, "3.70", "selections beyond the last index"),
                caught(BehaviourFaults.NeverCloses.class, "2.12", " buffers left "),
                caught(BehaviourFaults.NeverStale.class, "3.75 4.60", "must throw EpStateException, but was accepted"),
                caught(BehaviourFaults.AcceptsWrongIds.class, "5.43", "but was accepted"),
                caught(
                        BehaviourFaults.WrongException.class,
                        "5.20 5.43",
                        "but threw java.lang.IllegalArgumentException"),
                caught(BehaviourFaults.MuteRefusals.class, "5.20 5.43", "the message must mention"),
                caught(BehaviourFaults.ForgetsMask.class, "6.9", "maskedRanks() is []"),
                caught(BehaviourFaults.IgnoresEvents.class, "3.29", "topkIds[0][0] is 2122219134"),
                caught(
                        BehaviourFaults.IgnoresOut.class,
                        "3.25 3.52",
                        "address of x in a dispatch with a tensor of the caller"),
                caught(BehaviourFaults.IgnoresStatistics.class, "4.55 4.56", "tats["),
                caught(BehaviourFaults.ReceivesAtOnce.class, "4.42 4.44", "receive()"));
    }

    private static Arguments caught(Class<? extends GroupFactory> fault, String rules, String message) {
        return Arguments.of(fault.getSimpleName(), fault, rules, message);
    }

    @ParameterizedTest(name = "{0} breaks {2}")
    @MethodSource("faults")
    void breaksExactlyTheRulesThatConcernIt(
            String name, Class<? extends GroupFactory> fault, String rules, String message) {
        List<RuleResult> failed = new ArrayList<>();
        try (RuleRunner runner = new RuleRunner(faulty(fault))) {
            for (String id : sentinels(rules)) {
                RuleResult result = runner.run(RuleBook.rule(id), RankMode.THREADS, RANKS);
                assertThat(result.outcome()).as(id + ": " + result.reason()).isIn(Outcome.PASS, Outcome.FAIL);
                if (result.outcome() == Outcome.FAIL) {
                    failed.add(result);
                }
            }
        }
        assertThat(failed.stream().map(RuleResult::id).collect(Collectors.joining(" ")))
                .as(failed.stream().map(r -> r.id() + ": " + r.shortReason()).collect(Collectors.joining("\n")))
                .isEqualTo(rules);
        failed.forEach(r -> assertThat(r.reason()).contains(message));
    }

    private static List<String> sentinels(String broken) {
        List<String> rules = List.of(broken.split(" "));
        return SENTINELS.stream()
                .filter(id -> Tier.all() || rules.contains(id) || BYSTANDERS.contains(id))
                .toList();
    }

    @Test
    void aTimeoutThatNamesNoPeerIsFound() {
        try (RuleRunner runner = new RuleRunner(faulty(BehaviourFaults.AnonymousTimeout.class))) {
            RuleResult result = runner.run(RuleBook.rule("6.2"), RankMode.THREADS, RANKS);
            assertThat(result.outcome()).isEqualTo(Outcome.FAIL);
            assertThat(result.reason()).contains("peer() is -1");
        }
    }

    private static RuleResult hung(RuleRunner runner, RankMode mode) {
        return HangingRules.run(
                limit -> {
                    // Starts the ranks and lets them join, so that the limit is the rule's alone.
                    RuleResult first = runner.run(RuleBook.rule("1.5"), mode, 2);
                    assertThat(first.outcome()).as(first.reason()).isEqualTo(Outcome.PASS);
                    return runner.run(RuleBook.rule("3.1").within(limit), mode, 2);
                },
                "Thread.sleep",
                "BehaviourFaults$Hangs.call");
    }

    @Test
    void aRankThatHangsIsReportedWithTheStacksOfAllThreads() {
        try (RuleRunner runner = new RuleRunner(faulty(BehaviourFaults.Hangs.class))) {
            RuleResult result = hung(runner, RankMode.THREADS);
            assertThat(result.reason())
                    .contains("HUNG")
                    .contains("Thread.sleep")
                    .contains("tck-rank-1");
            RuleResult next = runner.run(RuleBook.rule("1.5"), RankMode.THREADS, 2);
            assertThat(next.outcome()).as(next.reason()).isEqualTo(Outcome.PASS);
        }
    }

    @Test
    void aProcessThatHangsIsReportedWithTheStacksOfAllThreads() {
        try (RuleRunner runner = new RuleRunner(faulty(BehaviourFaults.Hangs.class))) {
            RuleResult result = hung(runner, RankMode.PROCESSES);
            assertThat(result.reason())
                    .contains("HUNG")
                    .contains("Thread.sleep")
                    .contains("tck-rank");
        }
    }
}
