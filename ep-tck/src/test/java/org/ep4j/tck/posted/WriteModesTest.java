package org.ep4j.tck.posted;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.ep4j.config.EpKeys;
import org.ep4j.tck.posted.ScenarioRuns.Paths;
import org.ep4j.tck.ranks.GroupFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The engine passes the mode of each write, since backends limit writes of high throughput and of low latency apart. */
@Tag("verify")
final class WriteModesTest extends OnEmulatedGpus {
    private static final String HIGH = "hidden=64 tokens=9,5,7 topk=3 experts=9 rounds=2 seed=3";

    @ParameterizedTest
    @ValueSource(strings = {"host", "cuda"})
    void lowLatencyIsWrittenAsMessagesAndHighThroughputIsNot(String device) {
        long[] high = run(device, HIGH);
        assertThat(high[0]).isPositive();
        assertThat(high[1]).isZero();
        long[] both = run(device, HIGH + " low");
        assertThat(both[0]).as("bytes of the same high throughput").isEqualTo(high[0]);
        assertThat(both[1]).isPositive();
    }

    /** Returns the bytes that ranks write in high throughput, and in low latency. */
    private static long[] run(String device, String params) {
        long written = PostedThreadsLink.written();
        long messages = PostedThreadsLink.messages();
        ScenarioRuns.run(
                Paths.POSTED,
                GroupFactory.Plain.class.getName(),
                3,
                "BitsScenario",
                params,
                3,
                Map.of(EpKeys.DEVICE.name(), device));
        long low = PostedThreadsLink.messages() - messages;
        return new long[] {PostedThreadsLink.written() - written - low, low};
    }
}
