package org.ep4j.tck.ranks;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class RankProtocolTest {
    private static final Job JOB = new Job(
            "3.1 \u00e4 \ud83d\ude00",
            "a.Scenario",
            Map.of("tokens", "5", "", "\n"),
            3,
            Map.of("ep.device", "host"),
            "a.Factory",
            Duration.ofMillis(1234));

    @Test
    void messagesAreReadAsTheyWereWritten() {
        RankReport report = new RankReport(2, RankReport.End.FAILED, "stack\n".repeat(20_000), Map.of("rows", "7"), -1);
        for (RankProtocol.Message message : List.of(
                RankProtocol.Message.run(JOB),
                RankProtocol.Message.of(RankProtocol.Kind.DUMP),
                RankProtocol.Message.of(RankProtocol.Kind.READY),
                RankProtocol.Message.ended(report),
                RankProtocol.Message.stacks("stack\n".repeat(20_000)))) {
            String line = RankProtocol.encode(message);
            assertThat(line).doesNotContain("\n");
            assertThat(RankProtocol.decode(line)).contains(message);
            assertThat(RankProtocol.decode("printed before" + line)).contains(message);
        }
    }

    @Test
    void otherLinesAreNoMessages() {
        String line = RankProtocol.encode(RankProtocol.Message.stacks("text"));
        assertThat(RankProtocol.decode("")).isEmpty();
        assertThat(RankProtocol.decode("a log line")).isEmpty();
        for (int length = 0; length < line.length(); length++) {
            assertThat(RankProtocol.decode(line.substring(0, length)))
                    .as("the first %d characters", length)
                    .isEmpty();
        }
    }
}
