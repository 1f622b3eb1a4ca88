package org.ep4j.tck.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfigException;
import org.ep4j.EpUnavailableException;
import org.ep4j.tck.Capability;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.ranks.Params;
import org.ep4j.tck.ranks.RankReport;
import org.ep4j.tck.ranks.RankReport.End;
import org.ep4j.tck.soak.SoakReport.Kind;
import org.ep4j.tck.soak.SoakReport.Problem;
import org.ep4j.tck.soak.SoakReport.Times;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Tag("verify")
final class SoakTest {
    private static final TckSubject SUBJECT = TckSubject.of("host-shm", "host");
    private static final Duration PAUSE = Duration.ofSeconds(2);

    private static SoakRequest request(int ranks, Fault... faults) {
        return request(SUBJECT, ranks, OptionalLong.of(1), Optional.empty(), faults);
    }

    private static SoakRequest request(
            TckSubject subject, int ranks, OptionalLong rounds, Optional<Duration> duration, Fault... faults) {
        return new SoakRequest(subject, ranks, List.of(faults), rounds, duration, 1, 1);
    }

    @ParameterizedTest
    @EnumSource
    void drawsAsManyVictimsAsTheFaultHas(Fault fault) {
        int ranks = fault.fewestRanks();
        for (long seed = 0; seed < 1000; seed++) {
            RoundPlan plan = RoundPlan.draw(request(ranks, fault), seed, PAUSE);
            assertThat(plan.fault()).isEqualTo(fault);
            assertThat(plan.victims())
                    .doesNotHaveDuplicates()
                    .allMatch(rank -> rank >= 0 && rank < ranks)
                    .hasSizeBetween(fault.lost(), Math.max(1, fault.lost()));
            assertThat(2 * (ranks - fault.lost())).as("those that stay").isGreaterThan(ranks);
            assertThat(plan.begin()).isBetween(1, plan.exchanges() - 10);
            assertThat(plan.gap()).isBetween(fault == Fault.PORT_DOWN ? Duration.ofMillis(500) : Duration.ZERO, PAUSE);
            assertThat(RoundPlan.of(new Params(plan.params()))).isEqualTo(plan);
        }
    }

    @Test
    void killsRankZeroInHalfOfTheDoubleKills() {
        long withZero = LongStream.range(0, 1000)
                .filter(seed -> RoundPlan.draw(request(5, Fault.DOUBLE_KILL), seed, PAUSE)
                        .victims()
                        .contains(0))
                .count();
        assertThat(withZero).isBetween(430L, 570L);
    }

    /** Some ranks of a round close the buffer first, others the group. */
    @Test
    void ranksOfARoundCloseInEitherOrder() {
        for (long seed = 0; seed < 10; seed++) {
            RoundPlan plan = RoundPlan.draw(request(5, Fault.CLOSE), seed, PAUSE);
            long first = LongStream.range(0, 64)
                    .filter(rank -> SoakRound.closing(plan, (int) rank).nextInt(2) == 0)
                    .count();
            assertThat(first).isBetween(16L, 48L);
        }
    }

    /** Faults that five ranks can have. */
    private static Fault[] sharable() {
        return Arrays.stream(Fault.values())
                .filter(fault -> fault != Fault.PARTITION)
                .toArray(Fault[]::new);
    }

    @Test
    void drawsFaultsEvenlyAndTheSameFromTheSameSeed() {
        SoakRequest all = request(5, sharable());
        for (Fault fault : all.faults()) {
            long drawn = LongStream.range(0, 4000)
                    .filter(seed -> RoundPlan.draw(all, seed, PAUSE).fault() == fault)
                    .count();
            assertThat(drawn).as(fault.toString()).isBetween(320L, 480L);
        }
        assertThat(RoundPlan.draw(all, 7, PAUSE)).isEqualTo(RoundPlan.draw(all, 7, PAUSE));
        assertThat(RoundPlan.draw(all, 7, PAUSE)).isNotEqualTo(RoundPlan.draw(all, 8, PAUSE));
    }

    @Test
    void onlyFaultsThatNotEveryRunCanHaveAreNotInTheDefaultSet() {
        assertThat(Arrays.stream(Fault.values()).filter(fault -> !fault.isInDefaultSet()))
                .containsExactly(Fault.PORT_DOWN, Fault.PARTITION);
    }

    @Test
    void refusesWhatCannotBeRun() {
        assertThatThrownBy(() -> request(4, Fault.NONE, Fault.DOUBLE_KILL))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("ranks is 4, must be >= 5 for the fault double-kill");
        assertThatThrownBy(() -> request(3, Fault.PARTITION))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("ranks is 3, must be 2 with the fault partition");
        assertThatThrownBy(() -> request(
                        SUBJECT.with(Map.of("ep.recover.alone", "true")),
                        2,
                        OptionalLong.of(1),
                        Optional.empty(),
                        Fault.PARTITION))
                .hasMessageContaining("ep.recover.alone is true, must be false with the fault partition");
        assertThatThrownBy(() -> request(
                        SUBJECT.without(Capability.RECOVER), 2, OptionalLong.of(1), Optional.empty(), Fault.PARTITION))
                .hasMessageContaining("host-shm is declared to have no recovery");
        assertThatThrownBy(() -> new SoakRequest(
                        SUBJECT, 2, List.of(Fault.PORT_DOWN), OptionalLong.of(1), Optional.empty(), 1, 2))
                .hasMessageContaining("jobs is 2, must be 1 with the fault port-down");
        assertThatThrownBy(() -> request(3)).isInstanceOf(EpArgumentException.class);
        assertThatThrownBy(() -> request(SUBJECT, 3, OptionalLong.empty(), Optional.empty(), Fault.KILL))
                .hasMessageContaining("rounds, a duration, or both");
        assertThatThrownBy(() -> request(SUBJECT, 3, OptionalLong.of(0), Optional.empty(), Fault.KILL))
                .hasMessageContaining("rounds is 0");
        assertThatThrownBy(() -> request(SUBJECT, 3, OptionalLong.empty(), Optional.of(Duration.ZERO), Fault.KILL))
                .hasMessageContaining("duration");
        assertThatThrownBy(() ->
                        new SoakRequest(SUBJECT, 3, List.of(Fault.KILL), OptionalLong.of(1), Optional.empty(), 1, 0))
                .hasMessageContaining("jobs is 0");
        assertThatThrownBy(() -> request(
                        SUBJECT.with(Map.of("ep.bootstrap.heartbeat", "1s")),
                        3,
                        OptionalLong.of(1),
                        Optional.empty(),
                        Fault.KILL))
                .hasMessageContaining("[ep.bootstrap.heartbeat]");
        assertThatThrownBy(() -> request(
                        SUBJECT.without(Capability.RECOVER), 3, OptionalLong.of(1), Optional.empty(), Fault.KILL))
                .hasMessageContaining("host-shm is declared to have no recovery");
    }

    @Test
    void refusesSettingsAndBackendsBeforeARankStarts() {
        assertThatThrownBy(() -> Soak.run(
                        request(
                                SUBJECT.with(Map.of("ep.timeot", "1s")),
                                3,
                                OptionalLong.of(1),
                                Optional.empty(),
                                Fault.NONE),
                        report -> {}))
                .isInstanceOf(EpConfigException.class)
                .hasMessageContaining("ep.timeot");
        assertThatThrownBy(() -> Soak.run(
                        request(
                                TckSubject.of("no-such-backend", "host"),
                                3,
                                OptionalLong.of(1),
                                Optional.empty(),
                                Fault.NONE),
                        report -> {}))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("no-such-backend");
    }

    /** A later round counts as a failure, so that the report keeps the rounds before. */
    @Test
    void aMachineThatCannotHaveTheFaultOfTheFirstRoundIsRefused() {
        assertThat(Soak.refusal(Map.of(SoakRound.UNINJECTABLE, "one port")))
                .hasValueSatisfying(why -> assertThat(why)
                        .isInstanceOf(EpUnavailableException.class)
                        .hasMessage("one port"));
        assertThat(Soak.refusal(Map.of(SoakRound.EXCHANGES, "7"))).isEmpty();
        assertThat(problem(Fault.PORT_DOWN, ended(1, End.FAILED, Map.of(SoakRound.UNINJECTABLE, "one port")))
                        .orElseThrow()
                        .kind())
                .as("in a later round")
                .isEqualTo(Kind.FAILURE);
    }

    private static RankReport ended(int rank, End end, Map<String, String> facts) {
        return new RankReport(rank, end, end == End.DONE ? "" : "detail of " + rank, facts, rank);
    }

    private static Optional<Problem> problem(Fault fault, RankReport... reports) {
        RoundPlan plan = new RoundPlan(9, fault, List.of(1), 1, Duration.ZERO, Duration.ZERO, 20, 96, 5, 1);
        return Soak.problem(plan, Arrays.asList(reports));
    }

    @Test
    void aRoundThatEndsAsItsFaultWantsHasNoProblem() {
        assertThat(problem(Fault.KILL, ended(0, End.DONE, Map.of()), ended(1, End.KILLED, Map.of())))
                .isEmpty();
        assertThat(problem(Fault.STOP, ended(0, End.DONE, Map.of()), ended(1, End.DONE, Map.of())))
                .isEmpty();
    }

    @Test
    void theWorstOfARoundIsItsKindAndTheFirstFailureIsNamedFirst() {
        RankReport wrong = ended(2, End.FAILED, Map.of(SoakRound.WRONG, "x"));
        RankReport hung = ended(1, End.HUNG, Map.of());
        Problem both = problem(Fault.NONE, wrong, hung).orElseThrow();
        assertThat(both.kind()).isEqualTo(Kind.WRONG_ROW);
        assertThat(both.seed()).isEqualTo(9);
        assertThat(both.detail()).startsWith("rank 1 HUNG: detail of 1");
        assertThat(both.detail()).contains("rank 2 FAILED: x\ndetail of 2");
        assertThat(problem(Fault.NONE, hung).orElseThrow().kind()).isEqualTo(Kind.HANG);
        assertThat(problem(Fault.NONE, ended(0, End.FAILED, Map.of(SoakRound.HANG, "x")))
                        .orElseThrow()
                        .kind())
                .isEqualTo(Kind.HANG);
        assertThat(problem(Fault.NONE, ended(0, End.DONE, Map.of(SoakRound.LEAK, "thread x")))
                        .orElseThrow())
                .satisfies(leak -> assertThat(leak.kind()).isEqualTo(Kind.LEAK))
                .satisfies(leak -> assertThat(leak.detail()).contains("thread x"));
        assertThat(problem(Fault.NONE, ended(0, End.FAILED, Map.of()))
                        .orElseThrow()
                        .kind())
                .isEqualTo(Kind.FAILURE);
        assertThat(problem(Fault.KILL, ended(1, End.KILLED, Map.of(SoakRound.WRONG, "x")))
                        .orElseThrow()
                        .kind())
                .as("a victim that was killed after a wrong row")
                .isEqualTo(Kind.WRONG_ROW);
        assertThat(problem(Fault.PORT_DOWN, ended(1, End.DONE, Map.of(SoakRound.FAILOVERS, "2"))))
                .isEmpty();
        assertThat(problem(Fault.PORT_DOWN, ended(1, End.DONE, Map.of(SoakRound.FAILOVERS, "0")))
                        .orElseThrow()
                        .kind())
                .as("a rank that gave up no port")
                .isEqualTo(Kind.FAILURE);
        assertThat(problem(Fault.FULL, ended(0, End.DONE, Map.of(SoakRound.REFUSED, "x"))))
                .isEmpty();
        assertThat(problem(Fault.FULL, ended(0, End.DONE, Map.of()))
                        .orElseThrow()
                        .kind())
                .as("a rank that was not refused a buffer larger than memory")
                .isEqualTo(Kind.FAILURE);
        assertThat(problem(Fault.KILL, ended(1, End.DONE, Map.of()))
                        .orElseThrow()
                        .kind())
                .as("a victim that lives on")
                .isEqualTo(Kind.FAILURE);
    }

    @Test
    void ranksThatContinueAfterAPartitionAreTheMembersOfOneGroup() {
        String none = "no majority";
        assertThat(partition("[0, 1]", "[0, 1]")).isEmpty();
        assertThat(partition("[0]", none)).isEmpty();
        assertThat(partition(none, "[1]")).isEmpty();
        assertThat(partition(none, none)).isEmpty();
        assertThat(partition("[0]", "[1]").orElseThrow().detail())
                .contains("rank 0 DONE: the rank went on with ranks [0]")
                .contains("rank 1 DONE: the rank went on with ranks [1]");
        assertThat(partition("[0, 1]", "[1]")).isPresent();
        assertThat(partition("[0, 1]", none)).isPresent();
        assertThat(partition("[1]", none)).isPresent();
        assertThat(partition(none, "")).as("a rank that does not say why").isPresent();
    }

    private static Optional<Problem> partition(String ofZero, String ofOne) {
        return problem(Fault.PARTITION, ended(0, End.DONE, afterwards(ofZero)), ended(1, End.DONE, afterwards(ofOne)));
    }

    /** Returns the facts of a rank that continued with some members, or did not for some reason. */
    private static Map<String, String> afterwards(String text) {
        return text.isEmpty() ? Map.of() : Map.of(text.startsWith("[") ? SoakRound.MEMBERS : SoakRound.ENDED, text);
    }

    @Test
    void reportsPercentilesOfRecoveries() {
        List<Duration> times =
                LongStream.rangeClosed(1, 200).mapToObj(Duration::ofMillis).toList();
        Times recoveries = new Times(times);
        assertThat(recoveries.quantile(0.5)).contains(Duration.ofMillis(100));
        assertThat(recoveries.quantile(0.99)).contains(Duration.ofMillis(198));
        assertThat(recoveries.quantile(1)).contains(Duration.ofMillis(200));
        assertThat(new Times(List.of()).quantile(0.5)).isEmpty();
    }

    private static SoakReport report(long rounds, List<String> files) {
        Times none = new Times(List.of());
        return new SoakReport(rounds, 1, Map.of(), none, none, List.of(), files, Duration.ofSeconds(1));
    }

    @Test
    void passesOnlyIfRoundsHaveRunAndNothingIsLeft() {
        assertThat(report(1, List.of()).passed()).isTrue();
        assertThat(report(0, List.of()).passed()).isFalse();
        assertThat(report(1, List.of("ep4j-x")).passed()).isFalse();
    }
}
