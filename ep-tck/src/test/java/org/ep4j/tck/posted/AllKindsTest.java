package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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

/** Emulated GPUs that map some peers, post to others from kernels and to others from host threads, in one operation. */
@Tag("verify")
final class AllKindsTest extends OnEmulatedGpus {
    /** The same for several tests: kernels are compiled once. */
    private static final String SHAPE = "hidden=1024 topk=3 experts=12 max=20 ";

    /** All rows go to one rank, which has no room to return them at once. */
    private static final String ROUNDS = "hidden=64 tokens=21,4,21,20,9 topk=4 experts=20 layout=BY_EXPERT low ";

    private static List<Map<String, String>> run(int ranks, String pairs, String params, Map<String, String> more) {
        Map<String, String> settings = new TreeMap<>(AllKinds.settings(pairs));
        settings.putAll(more);
        return ScenarioRuns.run(Paths.BOTH, AllKinds.class.getName(), ranks, "BitsScenario", params, 9, settings);
    }

    /** Also on GPUs: the host's coding of LogFMT has other bits. */
    private static List<Map<String, String>> runMapped(int ranks, String params) {
        Map<String, String> settings =
                Map.of(EpKeys.DEVICE.name(), "cuda", EpKeys.BACKEND_PREFER.name(), ThreadsBackendProvider.ID);
        return ScenarioRuns.run(
                Paths.BOTH, GroupFactory.Plain.class.getName(), ranks, "BitsScenario", params, 9, settings);
    }

    static List<Arguments> exchanges() {
        List<Arguments> exchanges = List.of(
                Arguments.of(4, "0-2,1-2", true, SHAPE + "tokens=9,0,5,20 low format=FP8 cached seed=3"),
                Arguments.of(
                        4,
                        "0-3,1-2",
                        true,
                        SHAPE + "tokens=12,7,0,12 layout=BY_EXPERT low logfmt data=BELOW_ONE seed=4"),
                Arguments.of(4, "0-2,1-2", false, SHAPE + "tokens=20,1,9 fp8 cached low hook seed=5"),
                Arguments.of(
                        5,
                        "0-2,1-3,2-4",
                        true,
                        "hidden=336 tokens=11,7,20 topk=3 experts=11 fp8 cached routing=zipf:1.5 low seed=6"),
                // Rank 4 returns rows in rounds, by kernels alone; rank 0 by kernels and host threads.
                Arguments.of(5, "0-2,0-4,1-4,2-4,3-4", true, ROUNDS + "routing=to-rank:4 seed=7"),
                Arguments.of(5, "0-2,0-4,1-4,2-4,3-4", true, ROUNDS + "routing=to-rank:0 seed=8"));
        return Tier.all() ? exchanges : exchanges.subList(0, 2);
    }

    @ParameterizedTest
    @MethodSource("exchanges")
    void allKindsTogetherGiveTheSameBits(int ranks, String pairs, boolean relays, String params) {
        long kernels = PostingKernelsBuffer.put();
        long threads = PostedThreadsLink.written();
        assertThat(run(ranks, pairs, params, Map.of(EpKeys.RAILS.name(), Boolean.toString(relays))))
                .isEqualTo(runMapped(ranks, params));
        assertThat(PostingKernelsBuffer.put()).as("bytes that kernels put").isGreaterThan(kernels);
        assertThat(PostedThreadsLink.written())
                .as("bytes that host threads put")
                .isGreaterThan(threads);
    }

    /** Rank 0 maps rank 1, kernels of ranks 0 and 1 post to rank 2, and host threads of rank 1 to rank 3, which maps rank 2. */
    @Test
    void everyKindCarriesRows() {
        assertThat(rowsPosted("20,0,0,0", 1, Map.of())).as("to rank 1").containsExactly(0, 0);
        assertThat(rowsPosted("20,0,0,0", 2, Map.of())).as("to rank 2").containsExactly(2, 0);
        assertThat(rowsPosted("0,20,0,0", 3, Map.of())).as("to rank 3").containsExactly(0, 2);
        assertThat(rowsPosted("0,20,0,0", 2, Map.of()))
                .as("to rank 2 through rank 3, and back directly")
                .containsExactly(1, 1);
    }

    /** Returns how many rows kernels and host threads post for each of 20 tokens, there and back. */
    private static List<Integer> rowsPosted(String tokens, int to, Map<String, String> more) {
        long kernels = PostingKernelsBuffer.put();
        long threads = PostedThreadsLink.written();
        run(4, "0-2,1-2", SHAPE + "tokens=" + tokens + " rounds=1 routing=to-rank:" + to, more);
        long rows = 20 * 1024 * 2;
        return List.of((int) ((PostingKernelsBuffer.put() - kernels) / rows), (int)
                ((PostedThreadsLink.written() - threads) / rows));
    }

    /** Kernels of ranks 0 and 2 store into each other's channels; those of ranks 1 and 2 post. */
    @Tag("all")
    @Test
    void aBackendWhoseKernelsPostMayMapSomePeers() {
        Map<String, String> mapped = Map.of(PostingKernelsProvider.MAPPED.name(), "0-2");
        String params = SHAPE + "tokens=20,1,9 cached low seed=9";
        assertThat(run(4, "0-2,1-2", params, mapped)).isEqualTo(runMapped(4, params));
        assertThat(rowsPosted("20,0,0,0", 2, mapped)).as("to rank 2").containsExactly(0, 0);
    }

    /** Both rank 0 and rank 1 post in both ways, and no rank waits for them until the timeout. */
    @Test
    void memoryThatKernelsPostFromMustBeInReachOfTheOtherNics() {
        assertThatThrownBy(() -> run(4, "0-2,1-2", SHAPE, Map.of(PostedThreadsProvider.REGISTERS.name(), "host")))
                .hasMessageContainingAll(
                        "host threads post from rank 0",
                        "over posted-threads, so NICs must reach the memory of cuda:0 that posting-kernels allocated",
                        "test0 registers host",
                        "rank 2 FAILED",
                        "rank 3 FAILED")
                .hasMessageNotContaining("EpTimeoutException");
    }
}
