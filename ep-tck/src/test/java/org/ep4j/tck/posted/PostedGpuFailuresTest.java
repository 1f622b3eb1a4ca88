package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.posted.ScenarioRuns.Paths;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Emulated GPUs whose rings fill up, because a peer accepts data slowly, or not at all. */
@Tag("verify")
class PostedGpuFailuresTest extends OnEmulatedGpus {
    /** Exchange with more messages to the other rank than queue and ring hold. */
    private static final String MANY = "hidden=64 tokens=100 topk=2 experts=6 routing=to-rank:1";

    private static Map<String, String> gpu(Map<String, String> more) {
        Map<String, String> settings =
                new TreeMap<>(Map.of(EpKeys.DEVICE.name(), "cuda", EpKeys.PROXY_RING_COMMANDS.name(), "64"));
        settings.putAll(more);
        return settings;
    }

    private static void stuck(int ranks, String params, Duration patience) {
        ScenarioRuns.run(
                Paths.POSTED,
                StuckFromRankZero.class.getName(),
                ranks,
                "StuckPeerScenario",
                MANY + params,
                7,
                gpu(Map.of(PostedThreadsProvider.PATIENCE.name(), patience.toSeconds() + "s")));
    }

    /** The backend times out first, and stops the kernel. */
    @Test
    void aPeerThatAcceptsNoDataIsLost() {
        stuck(2, "", Duration.ofSeconds(1));
    }

    /** The kernel times out first, and the proxy thread, which the backend blocks, after it. */
    @Tag("all")
    @Test
    void aKernelDoesNotWaitForAProxyThreadThatIsBlocked() {
        stuck(3, " held", Duration.ofSeconds(40));
    }

    @Test
    void aPeerIsPostedToAgainAfterARecoveryThatKeepsIt() {
        ScenarioRuns.run(
                Paths.POSTED, RefusedFromRankZero.class.getName(), 2, "RefusedWriteScenario", "", 5, gpu(Map.of()));
    }

    @Test
    void othersContinueWithoutALivingRankThatCannotBeReached() {
        ScenarioRuns.run(Paths.POSTED, CutFromRankZero.class.getName(), 3, "CutLinkScenario", "", 5, gpu(Map.of()));
    }

    /** The queue holds two writes, so rings are full most of the time. */
    @Test
    void aSlowPeerGetsEverything() {
        String params = MANY + " low rounds=2 seed=11";
        assertThat(ScenarioRuns.run(
                        Paths.POSTED,
                        org.ep4j.tck.ranks.GroupFactory.Plain.class.getName(),
                        2,
                        "BitsScenario",
                        params,
                        8,
                        gpu(Map.of(PostedThreadsProvider.QUEUE.name(), "2"))))
                .isEqualTo(ScenarioRuns.run(Paths.MAPPED, 2, "BitsScenario", params, 8));
    }
}
