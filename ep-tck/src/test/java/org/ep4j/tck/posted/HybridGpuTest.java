package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.EpKeys;
import org.ep4j.engine.threads.ThreadsBackendProvider;
import org.ep4j.tck.posted.ScenarioRuns.Paths;
import org.ep4j.tck.ranks.GroupFactory;
import org.ep4j.testing.Tier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Emulated GPUs on simulated hosts, which map each other's memory inside a host and post to other hosts. */
@Tag("verify")
class HybridGpuTest extends OnEmulatedGpus {
    private static final String EXCHANGE = "hidden=64 tokens=9,0,5,14 topk=3 experts=12 low rounds=2 seed=3";

    private static List<Map<String, String>> run(int ranks, String params, Map<String, String> more) {
        return run(ranks, "BitsScenario", params, more);
    }

    private static List<Map<String, String>> run(int ranks, String scenario, String params, Map<String, String> more) {
        Map<String, String> settings = new TreeMap<>(Map.of(
                EpKeys.DEVICE.name(),
                "cuda",
                EpKeys.HOST_RANKS.name(),
                "2",
                EpKeys.BACKEND_PREFER.name(),
                ThreadsBackendProvider.ID));
        settings.putAll(more);
        return ScenarioRuns.run(Paths.BOTH, GroupFactory.Plain.class.getName(), ranks, scenario, params, 9, settings);
    }

    /** Ranks of one host post to each other where hybrid plans are disabled, with the same results. */
    @Test
    void mappedPeersArePostedToWhereThePlanIsNotHybrid() {
        List<Map<String, String>> expected = ScenarioRuns.run(Paths.MAPPED, 2, "BitsScenario", EXCHANGE, 9);
        long before = PostedThreadsLink.written();
        assertThat(run(2, EXCHANGE, Map.of())).isEqualTo(expected);
        assertThat(PostedThreadsLink.written()).as("bytes posted so far").isEqualTo(before);
        assertThat(run(2, EXCHANGE, Map.of(EpKeys.HYBRID.name(), "false"))).isEqualTo(expected);
        assertThat(PostedThreadsLink.written()).as("bytes posted so far").isGreaterThan(before);
    }

    /** A block of 128 channels takes 160 bytes instead of 256 in a combine. */
    @Tag("all")
    @Test
    void logFmtRowsArePostedWithoutTheirUncodedBytes() {
        int tokens = 20;
        int hidden = 1024;
        String params = "data=BELOW_ONE low routing=to-rank:1 rounds=1 topk=2 experts=4 hidden=" + hidden + " tokens="
                + tokens + ",0";
        Map<String, String> posted = Map.of(EpKeys.HYBRID.name(), "false");
        long before = PostedThreadsLink.written();
        run(2, params, posted);
        long plain = PostedThreadsLink.written() - before;
        run(2, params + " logfmt", posted);
        long saved = 2 * plain - (PostedThreadsLink.written() - before);
        // The first selection of every token, at least, goes to the other rank; ranges of blocks are not sent without
        // coding.
        assertThat(saved).isGreaterThan((96L - 4) * hidden / 128 * tokens);
    }

    /** Every token has experts on both ranks of the other host: its row is sent there once, and returned by both. */
    @Test
    void rowsGoToEachHostOnce() {
        assertThat(rowsPosted(Map.of())).as("rows posted for each token").isBetween(3.0, 3.4);
        assertThat(rowsPosted(Map.of(EpKeys.RAILS.name(), "false")))
                .as("rows posted for each token, without relays")
                .isBetween(4.0, 4.4);
    }

    private static double rowsPosted(Map<String, String> more) {
        int tokens = 20;
        int hidden = 2048;
        long before = PostedThreadsLink.written();
        run(4, "hidden=" + hidden + " tokens=" + tokens + ",0,0,0 topk=8 experts=8 rounds=1", more);
        return (PostedThreadsLink.written() - before) / (2.0 * hidden * tokens);
    }

    static List<Arguments> exchanges() {
        List<Arguments> exchanges = List.of(
                Arguments.of(4, "hidden=48 tokens=20,3,0,45 topk=5 experts=13 cached bias=2 id64 seed=4"),
                Arguments.of(3, "hidden=336 tokens=11,7,40 topk=3 experts=7 fp8 cached routing=zipf:1.5 seed=5"),
                Arguments.of(
                        5, "hidden=64 tokens=33,0,9,1,20 topk=4 experts=14 layout=BY_EXPERT cached drop=0.3 seed=6"),
                Arguments.of(
                        5,
                        "hidden=32 tokens=9,40,2,13,31 topk=8 experts=21 worst placement=uneven dup=0.4 max=360 seed=7"));
        return Tier.all() ? exchanges : exchanges.subList(2, 3);
    }

    /** Two hosts of two ranks, two and one, two and two and one: relays do not change the order of rows. */
    @ParameterizedTest
    @MethodSource("exchanges")
    void relayedRowsHaveTheSameBits(int ranks, String params) {
        assertThat(run(ranks, params, Map.of()))
                .isEqualTo(ScenarioRuns.run(Paths.MAPPED, ranks, "BitsScenario", params, 9));
    }

    /** Rank 1, the relay for rows of rank 3 to its host, is masked: rank 3 sends directly to rank 0. */
    @Tag("all")
    @Test
    void rowsAreSentDirectlyWhereTheRelayIsMasked() {
        run(4, "LeftOutScenario", "", Map.of());
    }

    /** Two hosts post less between them than ranks that do not map each other. */
    @Tag("all")
    @Test
    void aHybridPlanPostsBetweenHosts() {
        List<Map<String, String>> expected = ScenarioRuns.run(Paths.MAPPED, 4, "BitsScenario", EXCHANGE, 9);
        long before = PostedThreadsLink.written();
        assertThat(run(4, EXCHANGE, Map.of())).isEqualTo(expected);
        long hybrid = PostedThreadsLink.written() - before;
        assertThat(run(4, EXCHANGE, Map.of(EpKeys.HYBRID.name(), "false"))).isEqualTo(expected);
        assertThat(hybrid).isPositive().isLessThan(PostedThreadsLink.written() - before - hybrid);
    }
}
