package org.ep4j.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.spi.MemberState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Processes of which some die or stand still, the hub among them, and what the others know and can do afterwards. */
@Tag("promptness")
@Timeout(120)
class FailoverTest {
    private static final Duration SILENCE = Duration.ofSeconds(2);

    private final TreeMap<Integer, RankProcess> processes = new TreeMap<>();

    @AfterEach
    void end() {
        processes.values().forEach(RankProcess::close);
    }

    /** Processes with the heartbeat of the default settings where {@code silence} is theirs. */
    private void form(int size, Duration heartbeat, Duration silence) throws IOException {
        TcpSettings zero = TcpGroup.settings(0, size, TcpGroup.freePort());
        for (int rank = 0; rank < size; rank++) {
            processes.put(
                    rank,
                    new RankProcess(new TcpSettings(
                            rank, size, zero.host(), zero.port(), zero.secret(), Ranks.LONG, heartbeat, silence)));
        }
        processes.values().forEach(process -> assertThat(process.next()).startsWith("joined "));
    }

    private String state(int asked, int rank) {
        return process(asked).ask("state " + rank);
    }

    private RankProcess process(int rank) {
        RankProcess process = processes.get(rank);
        assertThat(process).isNotNull();
        return process;
    }

    private void until(int asked, int rank, MemberState state, Duration limit) {
        long start = System.nanoTime();
        while (!state(asked, rank).equals("state " + state)) {
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .as("rank " + asked + " sees rank " + rank + " as " + state(asked, rank))
                    .isLessThan(limit);
            BootstrapContract.pause(5);
        }
    }

    private void gather(String name, List<Integer> ranks) {
        String list = ranks.stream().map(String::valueOf).collect(Collectors.joining(","));
        ranks.forEach(rank -> process(rank).tell("sub " + name + " " + list));
        ranks.forEach(rank -> assertThat(process(rank).next()).isEqualTo("gathered " + ranks.size()));
    }

    private List<Integer> others(int size, Integer... without) {
        return IntStream.range(0, size)
                .boxed()
                .filter(rank -> !List.of(without).contains(rank))
                .toList();
    }

    @ParameterizedTest
    @CsvSource({"0,1", "0,3", "3,0", "1,2"})
    void everySurvivorLearnsOfBothLossesAndGathersOn(int first, int second) throws IOException {
        form(4, Duration.ofSeconds(1), Duration.ofSeconds(10));
        process(first).kill();
        process(second).kill();
        long start = System.nanoTime();
        List<Integer> living = others(4, first, second);
        for (int rank : living) {
            until(rank, first, MemberState.LOST, Duration.ofSeconds(2));
            until(rank, second, MemberState.LOST, Duration.ofSeconds(2));
        }
        System.out.println("both known lost after " + (System.nanoTime() - start) / 1_000_000 + " ms");
        gather("after", living);
        living.forEach(rank -> assertThat(state(rank, rank)).isEqualTo("state ALIVE"));
    }

    @Test
    void threeHubsDieOneAfterAnotherAndTheOthersGatherEachTime() throws IOException {
        form(5, Duration.ofSeconds(1), Duration.ofSeconds(10));
        for (int hub = 0; hub < 3; hub++) {
            process(hub).kill();
            List<Integer> living = IntStream.range(hub + 1, 5).boxed().toList();
            for (int rank : living) {
                until(rank, hub, MemberState.LOST, Duration.ofSeconds(2));
            }
            gather("after" + hub, living);
        }
        assertThat(state(4, 3)).isEqualTo("state ALIVE");
    }

    @Test
    void hubsThatLeaveInGoodOrderHandOverAndAreNotLost() throws IOException {
        form(4, Duration.ofSeconds(1), Duration.ofSeconds(10));
        for (int hub = 0; hub < 2; hub++) {
            assertThat(process(hub).ask("close")).isEqualTo("closed");
            process(hub).tell("return");
            assertThat(process(hub).exit(Ranks.LONG)).isZero();
            List<Integer> living = IntStream.range(hub + 1, 4).boxed().toList();
            gather("after" + hub, living);
            for (int rank : living) {
                assertThat(state(rank, hub)).isEqualTo("state LEFT");
            }
        }
        process(2).kill();
        until(3, 2, MemberState.LOST, Duration.ofSeconds(2));
        gather("alone", List.of(3));
    }

    @Test
    void memberThatTheHubAskedForStaysWhenThatHubLeaves() throws IOException {
        form(4, Duration.ofSeconds(1), Duration.ofSeconds(10));
        // Rank 1 becomes the hub and asks rank 3, which comes by itself at that moment: the question stays unanswered.
        process(3).signal("STOP");
        process(0).tell("close");
        BootstrapContract.pause(500);
        process(3).signal("CONT");
        assertThat(process(0).next()).isEqualTo("closed");
        gather("after0", List.of(1, 2, 3));
        assertThat(process(1).ask("close")).isEqualTo("closed");
        gather("after1", List.of(2, 3));
        assertThat(state(3, 1)).isEqualTo("state LEFT");
    }

    @ParameterizedTest
    @CsvSource({"4,0", "4,2", "2,1"})
    void aMemberThatStoodStillLearnsThatItIsOutWithinASecond(int size, int stopped) throws IOException {
        form(size, Duration.ofMillis(200), SILENCE);
        process(stopped).signal("STOP");
        List<Integer> living = others(size, stopped);
        for (int rank : living) {
            until(rank, stopped, MemberState.LOST, SILENCE.multipliedBy(3));
        }
        gather("without", living);
        process(stopped).signal("CONT");
        until(stopped, stopped, MemberState.LOST, Duration.ofSeconds(1));
        assertThat(process(stopped).ask("gather later x"))
                .startsWith("failed EpPeerLostException")
                .contains("this rank is out of the group");
        gather("still", living);
        for (int rank : living) {
            assertThat(state(rank, rank)).isEqualTo("state ALIVE");
            assertThat(state(rank, stopped)).isEqualTo("state LOST");
        }
    }

    @Test
    void ofTwoRanksTheLowerOneStaysWhenItStoodStill() throws IOException {
        form(2, Duration.ofMillis(200), SILENCE);
        process(0).signal("STOP");
        until(1, 0, MemberState.LOST, SILENCE.multipliedBy(3));
        gather("alone", List.of(1));
        process(0).signal("CONT");
        until(1, 1, MemberState.LOST, Duration.ofSeconds(1));
        assertThat(state(0, 0)).isEqualTo("state ALIVE");
        assertThat(state(0, 1)).isEqualTo("state LOST");
    }

    @Test
    void aStopShorterThanTheSilenceCostsNobody() throws IOException {
        form(3, Duration.ofMillis(200), Duration.ofSeconds(4));
        for (int stopped = 0; stopped < 3; stopped++) {
            process(stopped).signal("STOP");
            BootstrapContract.pause(1000);
            process(stopped).signal("CONT");
        }
        gather("all", List.of(0, 1, 2));
        for (int rank = 0; rank < 3; rank++) {
            for (int other = 0; other < 3; other++) {
                assertThat(state(rank, other)).isEqualTo("state ALIVE");
            }
        }
    }

    @Test
    void aCandidateThatStandsStillForAWhileBecomesTheHubAndIsNotLost() throws IOException {
        form(3, Duration.ofSeconds(1), Duration.ofSeconds(10));
        process(1).signal("STOP");
        process(0).kill();
        BootstrapContract.pause(3500);
        assertThat(state(2, 1)).isEqualTo("state ALIVE");
        process(1).signal("CONT");
        for (int rank : List.of(1, 2)) {
            until(rank, 0, MemberState.LOST, Duration.ofSeconds(2));
        }
        gather("after", List.of(1, 2));
        assertThat(state(2, 1)).isEqualTo("state ALIVE");
        assertThat(state(1, 2)).isEqualTo("state ALIVE");
    }

    @Test
    void allStandStillTogetherAndNobodyIsLost() throws IOException {
        form(3, Duration.ofMillis(200), Duration.ofSeconds(1));
        List<RankProcess> all = new ArrayList<>(processes.values());
        all.forEach(process -> process.signal("STOP"));
        BootstrapContract.pause(2500);
        all.forEach(process -> process.signal("CONT"));
        gather("all", List.of(0, 1, 2));
        for (int other = 0; other < 3; other++) {
            assertThat(state(1, other)).isEqualTo("state ALIVE");
        }
    }
}
