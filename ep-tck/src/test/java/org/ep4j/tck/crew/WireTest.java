package org.ep4j.tck.crew;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class WireTest {
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
        for (Wire.Message message : List.of(
                Wire.Message.run(JOB),
                Wire.Message.of(Wire.Kind.DUMP),
                Wire.Message.of(Wire.Kind.READY),
                Wire.Message.ended(report),
                Wire.Message.stacks("stack\n".repeat(20_000)))) {
            String line = Wire.encode(message);
            assertThat(line).doesNotContain("\n");
            assertThat(Wire.decode(line)).contains(message);
            assertThat(Wire.decode("printed before" + line)).contains(message);
        }
    }

    @Test
    void otherLinesAreNoMessages() {
        String line = Wire.encode(Wire.Message.stacks("text"));
        assertThat(Wire.decode("")).isEmpty();
        assertThat(Wire.decode("a log line")).isEmpty();
        for (int length = 0; length < line.length(); length++) {
            assertThat(Wire.decode(line.substring(0, length)))
                    .as("the first %d characters", length)
                    .isEmpty();
        }
    }
}
