package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.Capability;
import org.ep4j.tck.Subjects;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.crew.GroupFactory;
import org.ep4j.tck.posted.Runs.Paths;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Emulated GPUs on made-up hosts, which map each other's memory inside of a host and post to other hosts. */
@Timeout(250)
class HybridGpuTest {
    private static final String EXCHANGE = "hidden=64 tokens=9,0,5,14 topk=3 experts=12 low rounds=2 seed=3";

    /** Without the emulator the tests are skipped, and fail where it is required. */
    @BeforeEach
    void emulator() {
        TckSubject subject = TckSubject.of(PostedThreadsProvider.ID, "cuda").without(Capability.PROCESSES);
        List<String> missing = Subjects.unavailable(subject);
        if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            assertThat(missing).isEmpty();
        }
        assumeTrue(missing.isEmpty(), missing::toString);
    }

    private static List<Map<String, String>> run(int ranks, String params, Map<String, String> more) {
        Map<String, String> settings = new TreeMap<>(Map.of(
                EpKeys.DEVICE.name(),
                "cuda",
                EpKeys.HOST_RANKS.name(),
                "2",
                EpKeys.PREFER.name(),
                MappedThreadsProvider.ID));
        settings.putAll(more);
        return Runs.run(Paths.BOTH, GroupFactory.Plain.class.getName(), ranks, "BitsScenario", params, 9, settings);
    }

    /** Ranks of one host post to each other where the plan is not to be hybrid, and get the same bits. */
    @Test
    void mappedPeersArePostedToWhereThePlanIsNotHybrid() {
        List<Map<String, String>> expected = Runs.run(Paths.MAPPED, 2, "BitsScenario", EXCHANGE, 9);
        long before = Link.written();
        assertThat(run(2, EXCHANGE, Map.of())).isEqualTo(expected);
        assertThat(Link.written()).as("bytes posted so far").isEqualTo(before);
        assertThat(run(2, EXCHANGE, Map.of(EpKeys.HYBRID.name(), "false"))).isEqualTo(expected);
        assertThat(Link.written()).as("bytes posted so far").isGreaterThan(before);
    }

    /** A block of 128 channels takes 160 bytes in place of 256 on its way back. */
    @Test
    void onlyWhatIsCodedIsPosted() {
        int tokens = 20;
        int hidden = 1024;
        String params = "data=BELOW_ONE low routing=to-rank:1 rounds=1 topk=2 experts=4 hidden=" + hidden + " tokens=" + tokens + ",0";
        Map<String, String> posted = Map.of(EpKeys.HYBRID.name(), "false");
        long before = Link.written();
        run(2, params, posted);
        long plain = Link.written() - before;
        run(2, params + " logfmt", posted);
        long saved = 2 * plain - (Link.written() - before);
        // The first selection of every token, at least, goes to the other rank; ranges of blocks are not sent without coding.
        assertThat(saved).isGreaterThan((96L - 4) * hidden / 128 * tokens);
    }

    /** Of two hosts, with less posted where hosts map. */
    @Test
    void aHybridPlanPostsBetweenHosts() {
        List<Map<String, String>> expected = Runs.run(Paths.MAPPED, 4, "BitsScenario", EXCHANGE, 9);
        long before = Link.written();
        assertThat(run(4, EXCHANGE, Map.of())).isEqualTo(expected);
        long hybrid = Link.written() - before;
        assertThat(run(4, EXCHANGE, Map.of(EpKeys.HYBRID.name(), "false"))).isEqualTo(expected);
        assertThat(hybrid).isPositive().isLessThan(Link.written() - before - hybrid);
    }
}
