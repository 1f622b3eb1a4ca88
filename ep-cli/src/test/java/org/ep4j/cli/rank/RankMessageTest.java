package org.ep4j.cli.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.plan.Fingerprint;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class RankMessageTest {
    private static final JsonMapper JSON = JsonMapper.shared();

    @Test
    void everyMessageRoundTrips() {
        List<RankMessage> messages = List.of(
                new RankMessage.Joined(
                        "all pairs:\nhost-shm \"x\"",
                        List.of("host-shm"),
                        5,
                        6,
                        new Fingerprint("host", "a \"model\"", 2, 4, 1, 1, List.of("efa", "host-shm")),
                        List.of("tuned for \"x\": y")),
                new RankMessage.Progress(3, 9, "HT round 3"),
                new RankMessage.Samples(
                        "ht.dispatch", List.of(1L, 2L), List.of(3L, 4L), List.of(0L, 1L), 14336, List.of(5L)),
                new RankMessage.Path("ibrc-multiqp", 0, 1, List.of("a:1", "b:1"), List.of("c:1"), 2),
                new RankMessage.Writes(8, 100, List.of(1L, 2L), 10, List.of(3L, 4L), List.of(5L, 6L)),
                new RankMessage.ChainSamples("ll.pair", 8, "graph", 56, List.of(1L, 2L), List.of(3L, 4L)),
                new RankMessage.Validated("ht.dispatch", 7, "x[1] is 2, must be 3"),
                new RankMessage.Failed("EpTimeoutException", "line 1\nline 2", 4));
        for (RankMessage message : messages) {
            assertThat(message.encode()).doesNotContain("\n");
            assertThat(RankMessage.decode(message.encode())).contains(message);
        }
    }

    @Test
    void otherLinesAreNoMessages() {
        assertThat(RankMessage.decode("")).isEmpty();
        assertThat(RankMessage.decode("hello world")).isEmpty();
        assertThat(RankMessage.decode("@ep:Unknown {}")).isEmpty();
        assertThat(RankMessage.decode("@ep:Progress")).isEmpty();
    }

    @Test
    void theSpecRoundTrips() {
        ExchangeSpec spec = new ExchangeSpec(
                4,
                "host",
                "host-shm",
                7168,
                8,
                256,
                List.of(
                        new Part(Mode.HT, 1024, Wire.BF16, RowLayout.BY_EXPERT, true),
                        new Part(Mode.LL, 128, Wire.FP8, RowLayout.BY_RANK, false)),
                1.5,
                8,
                4,
                1,
                2,
                true,
                2,
                false,
                Long.MIN_VALUE,
                "/tmp/with blank \"quote\"");
        assertThat(JSON.readValue(JSON.writeValueAsString(spec), ExchangeSpec.class))
                .isEqualTo(spec);
    }

    @Test
    void theSpecOfWritesRoundTrips() {
        WriteSpec spec =
                new WriteSpec(2, "ibrc-multiqp", List.of(8, 1 << 20), 5000, 64_000_000, 32, 1000, 3, 20_000, true);
        assertThat(JSON.readValue(JSON.writeValueAsString(spec), WriteSpec.class))
                .isEqualTo(spec);
        assertThat(spec.writes(8)).isEqualTo(5000);
        assertThat(spec.writes(1 << 20)).isEqualTo(61);
        assertThat(spec.writes(1 << 30)).isEqualTo(32);
    }

    @Test
    void aBufferAlsoHoldsTheLowLatencyTokensThatGoThroughTheOtherMode() {
        ExchangeSpec spec = new ExchangeSpec(
                2,
                "host",
                "",
                64,
                2,
                8,
                List.of(new Part(Mode.LL, 128, Wire.BF16, RowLayout.BY_RANK, true)),
                0,
                0,
                0,
                0,
                1,
                false,
                0,
                false,
                1,
                "f");
        assertThat(spec.maxTokens(Mode.HT)).isEqualTo(128);
        assertThat(spec.maxTokens(Mode.LL)).isEqualTo(128);
    }
}
