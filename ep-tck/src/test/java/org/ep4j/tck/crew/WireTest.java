package org.ep4j.tck.crew;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
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
        for (Wire.Kind kind : Wire.Kind.values()) {
            Wire.Message message = new Wire.Message(
                    kind,
                    kind == Wire.Kind.RUN ? Optional.of(Wire.Run.of(JOB)) : Optional.empty(),
                    kind == Wire.Kind.ENDED,
                    "stack\n".repeat(20_000),
                    Map.of("rows", "7"),
                    -1);
            String line = Wire.encode(message);
            assertThat(line).doesNotContain("\n");
            assertThat(Wire.decode(line)).contains(message);
            assertThat(Wire.decode("printed before" + line)).contains(message);
        }
        assertThat(Wire.decode(Wire.encode(
                                new Wire.Message(Wire.Kind.RUN, Optional.of(Wire.Run.of(JOB)), false, "", Map.of(), 0)))
                        .flatMap(Wire.Message::run)
                        .map(Wire.Run::job))
                .contains(JOB);
    }

    @Test
    void otherLinesAreNoMessages() {
        String line = Wire.encode(Wire.Message.detail(Wire.Kind.STACKS, "text"));
        assertThat(Wire.decode("")).isEmpty();
        assertThat(Wire.decode("a log line")).isEmpty();
        for (int length = 0; length < line.length(); length++) {
            assertThat(Wire.decode(line.substring(0, length)))
                    .as("the first %d characters", length)
                    .isEmpty();
        }
    }
}
