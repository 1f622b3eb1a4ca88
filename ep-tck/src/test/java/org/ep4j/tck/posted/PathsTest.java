package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Random;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.posted.ScenarioRuns.Paths;
import org.ep4j.testing.Draw;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The results of exchanges have the same bits on all kinds of paths. */
@Tag("verify")
class PathsTest {
    private static final List<String> ROUTING = List.of(
            "routing=uniform",
            "routing=zipf:1.5",
            "routing=local drop=0.5",
            "routing=to-rank:1 dup=0.5 max=360",
            "dup=0.4 drop=0.3 max=360",
            "drop=1",
            "placement=stride",
            "placement=uneven dup=0.6 max=360");

    private static final List<String> HIGH = List.of(
            "",
            "noweights noreturn",
            "zerocopy bias=1",
            "cached bias=2",
            "fp8 cached",
            "worst id64",
            "async",
            "layout=BY_EXPERT align=4",
            "layout=BY_EXPERT cached",
            "layout=BY_EXPERT precision=RANK_PARTIAL bias=1",
            "layout=BY_EXPERT noreturn out");

    private static final List<String> LOW = List.of(
            "low",
            "low hook",
            "low format=FP8",
            "low format=FP8_UE8M0 hook",
            "low logfmt",
            "low zerocopy",
            "low async");

    @Property(tries = 30, verify = 8)
    void allPathsGiveTheSameBits(
            @ForAll("exchange") String exchange,
            @ForAll @IntRange(min = 2, max = 5) int ranks,
            @ForAll @IntRange(min = 1, max = 1_000_000) int seed) {
        String params = exchange + " seed=" + seed;
        List<Map<String, String>> expected = ScenarioRuns.run(Paths.MAPPED, ranks, "BitsScenario", params, seed);
        for (Paths paths : List.of(Paths.POSTED, Paths.MIXED, Paths.HYBRID)) {
            assertThat(ScenarioRuns.run(paths, ranks, "BitsScenario", params, seed))
                    .as("%s of %d ranks: %s", paths, ranks, params)
                    .isEqualTo(expected);
        }
    }

    /** Rows of a peer exceed the staging buffer, and each takes several pieces. */
    @Test
    void rowsThatExceedTheStagingBufferHaveTheSameBits() {
        String params = "hidden=4096 tokens=700,0 topk=2 experts=4 routing=to-rank:1 rounds=1";
        assertThat(ScenarioRuns.run(Paths.POSTED, 2, "BitsScenario", params, 3))
                .isEqualTo(ScenarioRuns.run(Paths.MAPPED, 2, "BitsScenario", params, 3));
    }

    /** Expert outputs are sent one selection at a time. */
    @Test
    void selectionsThatExceedTheStagingBufferHaveTheSameBits() {
        String params = "hidden=4096 tokens=0,400 topk=3 experts=6 layout=BY_EXPERT routing=to-rank:0 rounds=1";
        assertThat(ScenarioRuns.run(Paths.POSTED, 2, "BitsScenario", params, 4))
                .isEqualTo(ScenarioRuns.run(Paths.MAPPED, 2, "BitsScenario", params, 4));
    }

    /** Every token has experts on both ranks of the other host: its row is sent there once, and returned by both. */
    @Test
    void rowsGoToEachHostOnce() {
        int tokens = 20;
        int hidden = 4096;
        String params = "hidden=" + hidden + " tokens=" + tokens + ",0,0,0 topk=8 experts=8 rounds=1";
        long before = PostedThreadsLink.written();
        ScenarioRuns.run(Paths.MIXED, 4, "BitsScenario", params, 5);
        double rows = (PostedThreadsLink.written() - before) / (2.0 * hidden * tokens);
        assertThat(rows).as("rows posted for each token").isBetween(3.0, 3.2);
        before = PostedThreadsLink.written();
        Map<String, String> direct = Map.of(EpKeys.RAILS.name(), "false");
        ScenarioRuns.run(Paths.MIXED, SimulatedHosts.class.getName(), 4, "BitsScenario", params, 5, direct);
        rows = (PostedThreadsLink.written() - before) / (2.0 * hidden * tokens);
        assertThat(rows).as("rows posted for each token, without relays").isBetween(4.0, 4.2);
    }

    /** Rows of rank 2 reach rank 1 through rank 0, which sees the counters of rank 2 later than rank 1. */
    @Test
    void recordsAreReadWhenTheRelayHasStoredThem() {
        Map<String, String> late = Map.of(PostedThreadsProvider.LATE.name(), "0");
        for (String more : List.of("", " cached", " layout=BY_EXPERT")) {
            String params = "hidden=64 tokens=20 topk=4 experts=16 rounds=2 seed=6" + more;
            assertThat(ScenarioRuns.run(
                            Paths.MIXED, SimulatedHosts.class.getName(), 4, "BitsScenario", params, 6, late))
                    .as(params)
                    .isEqualTo(ScenarioRuns.run(Paths.MAPPED, 4, "BitsScenario", params, 6));
        }
    }

    static String exchange(Random random) {
        int topk = Draw.anInt(random, 1, 8);
        return String.join(
                " ",
                "hidden=" + 16 * Draw.anInt(random, 1, 24),
                "tokens="
                        + String.join(
                                ",", Draw.aList(random, 1, 5, r -> Draw.oneOf(r, "0", "0", "1", "3", "7", "20", "45"))),
                "topk=" + topk,
                "experts=" + (2 * topk + 5 + Draw.anInt(random, 0, 12)),
                Draw.oneOf(random, ROUTING),
                Draw.oneOf(random, HIGH),
                Draw.oneOf(random, LOW));
    }
}
