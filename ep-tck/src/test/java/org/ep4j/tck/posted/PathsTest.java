package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.IntRange;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.posted.Runs.Paths;

/** Whatever the paths, the results are equal to the last bit. */
class PathsTest {
    @Property(tries = 30, shrinking = ShrinkingMode.OFF)
    void allPathsGiveTheSameBits(
            @ForAll("exchanges") String exchange,
            @ForAll @IntRange(min = 2, max = 5) int ranks,
            @ForAll("seeds") int seed) {
        String params = exchange + " seed=" + seed;
        List<Map<String, String>> expected = Runs.run(Paths.MAPPED, ranks, "BitsScenario", params, seed);
        for (Paths paths : List.of(Paths.POSTED, Paths.MIXED, Paths.HYBRID)) {
            assertThat(Runs.run(paths, ranks, "BitsScenario", params, seed))
                    .as("%s of %d ranks: %s", paths, ranks, params)
                    .isEqualTo(expected);
        }
    }

    /** More than is staged for a peer at once, in rows that take several pieces. */
    @Example
    void moreThanIsStagedAtOnce() {
        String params = "hidden=4096 tokens=700,0 topk=2 experts=4 routing=to-rank:1 rounds=1";
        assertThat(Runs.run(Paths.POSTED, 2, "BitsScenario", params, 3))
                .isEqualTo(Runs.run(Paths.MAPPED, 2, "BitsScenario", params, 3));
    }

    /** So also where expert outputs are sent one selection at a time. */
    @Example
    void moreSelectionsThanAreStagedAtOnce() {
        String params = "hidden=4096 tokens=0,400 topk=3 experts=6 layout=BY_EXPERT routing=to-rank:0 rounds=1";
        assertThat(Runs.run(Paths.POSTED, 2, "BitsScenario", params, 4))
                .isEqualTo(Runs.run(Paths.MAPPED, 2, "BitsScenario", params, 4));
    }

    /** Every token is for both ranks of the other host: its row goes there once, and comes back from both. */
    @Example
    void rowsGoToEachHostOnce() {
        int tokens = 20;
        int hidden = 4096;
        String params = "hidden=" + hidden + " tokens=" + tokens + ",0,0,0 topk=8 experts=8 rounds=1";
        long before = Link.written();
        Runs.run(Paths.MIXED, 4, "BitsScenario", params, 5);
        double rows = (Link.written() - before) / (2.0 * hidden * tokens);
        assertThat(rows).as("rows posted for each token").isBetween(3.0, 3.2);
        before = Link.written();
        Map<String, String> straight = Map.of(EpKeys.RAILS.name(), "false");
        Runs.run(Paths.MIXED, MadeUpHosts.class.getName(), 4, "BitsScenario", params, 5, straight);
        rows = (Link.written() - before) / (2.0 * hidden * tokens);
        assertThat(rows).as("rows posted for each token, straight").isBetween(4.0, 4.2);
    }

    @Provide
    Arbitrary<Integer> seeds() {
        return Arbitraries.integers().between(1, 1_000_000);
    }

    @Provide
    Arbitrary<String> exchanges() {
        Arbitrary<Integer> hidden = Arbitraries.integers().between(1, 24).map(i -> 16 * i);
        Arbitrary<String> tokens = Arbitraries.of(0, 0, 1, 3, 7, 20, 45)
                .list()
                .ofMinSize(1)
                .ofMaxSize(5)
                .map(all -> all.stream().map(String::valueOf).collect(Collectors.joining(",")));
        Arbitrary<String> experts = Combinators.combine(
                        Arbitraries.integers().between(1, 8),
                        Arbitraries.integers().between(0, 12))
                .as((topk, more) -> "topk=" + topk + " experts=" + (2 * topk + 5 + more));
        Arbitrary<String> routing = Arbitraries.of(
                "routing=uniform",
                "routing=zipf:1.5",
                "routing=local drop=0.5",
                "routing=to-rank:1 dup=0.5 max=360",
                "dup=0.4 drop=0.3 max=360",
                "drop=1",
                "placement=stride",
                "placement=uneven dup=0.6 max=360");
        Arbitrary<String> high = Arbitraries.of(
                "",
                "noweights noreturn",
                "zerocopy bias=1",
                "cached bias=2",
                "fp8 cached",
                "worst id64",
                "async",
                "overflow recv=9 cached",
                "layout=BY_EXPERT overflow recv=13 cached align=2",
                "layout=BY_EXPERT align=4",
                "layout=BY_EXPERT cached",
                "layout=BY_EXPERT precision=RANK_PARTIAL bias=1",
                "layout=BY_EXPERT noreturn out");
        Arbitrary<String> low = Arbitraries.of(
                "low",
                "low hook",
                "low format=FP8",
                "low format=FP8_UE8M0 hook",
                "low logfmt",
                "low zerocopy",
                "low async");
        return Combinators.combine(hidden, tokens, experts, routing, high, low)
                .as((h, t, e, r, options, l) -> String.join(" ", "hidden=" + h, "tokens=" + t, e, r, options, l))
                // The hook returns early already.
                .filter(text -> !text.contains("async") || !text.contains("hook"));
    }
}
