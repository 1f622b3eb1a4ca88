package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.engine.threads.ThreadsBackendProvider;
import org.ep4j.tck.posted.ScenarioRuns.Paths;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Emulated GPUs of which one has most of the experts that tokens choose: the rows that it returns in an exact combine exceed its channels,
 * so it returns them in rounds. NICs read rows as late as possible, so a row that is overwritten too early would be found.
 */
@Tag("verify")
class ReturnRoundsTest extends OnEmulatedGpus {
    private static List<Map<String, String>> run(Paths paths, int ranks, String params, Map<String, String> more) {
        Map<String, String> settings = new TreeMap<>(Map.of(EpKeys.DEVICE.name(), "cuda"));
        settings.putAll(more);
        return ScenarioRuns.run(
                paths,
                GroupFactory.Plain.class.getName(),
                ranks,
                "BitsScenario",
                params + " layout=BY_EXPERT",
                9,
                settings);
    }

    private static List<Map<String, String>> expected(int ranks, String params) {
        return ScenarioRuns.run(Paths.MAPPED, ranks, "BitsScenario", params + " layout=BY_EXPERT", 9);
    }

    private static long advanced() {
        return PostedThreadsLink.advanced(BufferLayout.number(Counter.HT_ROUND));
    }

    static List<Arguments> exchanges() {
        List<Arguments> exchanges = List.of(
                // 2 * 12 * 3 rows, room for 36: ends with a round that is full.
                Arguments.of(3, 2, "hidden=64 tokens=12 topk=3 experts=9 routing=to-rank:1 bias=1 seed=3"),
                // 4 * 9 * 3 or fewer rows, room for 36: some tokens have no selection, a rank has no token.
                Arguments.of(5, 3, "hidden=32 tokens=9,9,9,9,9 topk=3 experts=15 routing=to-rank:4 cached seed=4"),
                Arguments.of(
                        4, 2, "hidden=336 tokens=20,0,20,17 topk=4 experts=18 routing=to-rank:2 drop=0.2 id64 seed=5"),
                // One round suffices where the rows of all ranks have room.
                Arguments.of(4, 1, "hidden=48 tokens=15,0,8,1 topk=4 experts=16 drop=0.1 seed=6"),
                Arguments.of(2, 1, "hidden=64 tokens=19 topk=4 experts=8 routing=to-rank:0 seed=7"));
        return Tier.all() ? exchanges : exchanges.subList(0, 1);
    }

    /**
     * A channel has room for the larger of T and T * K / (R - 1) rows for each of the other ranks. Every round but the last ends with two
     * advances of the counter to each other rank, so the advances of two exchanges give the number of rounds.
     */
    @ParameterizedTest
    @MethodSource("exchanges")
    void rowsThatExceedTheChannelAreReturnedInRounds(int ranks, int rounds, String params) {
        long before = advanced();
        assertThat(run(Paths.POSTED, ranks, params, Map.of())).isEqualTo(expected(ranks, params));
        assertThat(advanced() - before).isEqualTo(2L * 2 * (rounds - 1) * ranks * (ranks - 1));
    }

    /** Rank 4 is alone on its host; the others map one other rank each, and all run the same number of rounds. */
    @Tag("all")
    @Test
    void ranksThatMapSomePeersRunAsManyRounds() {
        String params = "hidden=64 tokens=21,4,21,20,9 topk=4 experts=20 routing=to-rank:4 seed=8";
        Map<String, String> hosts =
                Map.of(EpKeys.HOST_RANKS.name(), "2", EpKeys.BACKEND_PREFER.name(), ThreadsBackendProvider.ID);
        long before = advanced();
        assertThat(run(Paths.BOTH, 5, params, hosts)).isEqualTo(expected(5, params));
        assertThat(advanced() - before).as("advances of HT_ROUND").isPositive();
    }

    /** The same where NICs read memory of the GPU. */
    @Test
    void windowsMayLieInMemoryOfGpus() {
        String params = "hidden=64 tokens=12,7,12 topk=3 experts=9 routing=to-rank:1 seed=9";
        long before = advanced();
        assertThat(run(
                        Paths.POSTED,
                        3,
                        params,
                        Map.of(EpKeys.GPU_WINDOW.name(), "device", PostedThreadsProvider.REGISTERS.name(), "dma-buf")))
                .isEqualTo(expected(3, params));
        assertThat(advanced() - before).isPositive();
    }

    /** The link breaks in the second round of three; the others continue, in two rounds, without the rank behind it. */
    @Tag("all")
    @Test
    void othersContinueWithoutARankThatIsLostInARound() {
        ScenarioRuns.run(
                Paths.POSTED,
                CutFromRankZero.class.getName(),
                4,
                "LostInRoundScenario",
                "hidden=64 tokens=40 topk=3 experts=12 layout=BY_EXPERT routing=to-rank:0",
                5,
                Map.of(EpKeys.DEVICE.name(), "cuda"));
    }

    /** The timeout of a rank that waits for the end of a round names the peer that did not answer. */
    @Tag("all")
    @Test
    void aRoundThatDoesNotEndTimesOutWithThePeer() {
        ScenarioRuns.run(
                Paths.POSTED,
                StuckInRound.class.getName(),
                3,
                "StuckRoundScenario",
                "hidden=64 tokens=12 topk=3 experts=9 layout=BY_EXPERT routing=to-rank:0",
                5,
                Map.of(EpKeys.DEVICE.name(), "cuda"));
    }
}
