package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.awt.image.BufferedImage;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;
import javax.imageio.ImageIO;
import org.ep4j.EpTraffic;
import org.ep4j.EpUnavailableException;
import org.ep4j.RowLayout;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.ExchangeSpec.Mode;
import org.ep4j.cli.rank.ExchangeSpec.Part;
import org.ep4j.cli.rank.ExchangeSpec.Wire;
import org.ep4j.cli.rank.Operations;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.Lane;
import org.ep4j.cli.rank.RankMessage.Link;
import org.ep4j.cli.rank.RankMessage.Samples;
import org.ep4j.cli.rank.RankMessage.Sent;
import org.ep4j.plan.Fingerprint;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class BenchReportTest {
    private static final ExchangeSpec SPEC = new ExchangeSpec(
            2,
            "host",
            "",
            7168,
            8,
            256,
            List.of(
                    new Part(Mode.HT, 1024, Wire.BF16, RowLayout.BY_EXPERT, true),
                    new Part(Mode.LL, 128, Wire.BF16, RowLayout.BY_EXPERT, true)),
            0.5,
            8,
            4,
            10,
            30,
            true,
            1,
            true,
            42,
            "barrier");

    private static final Link LINK = new Link(
            1,
            1,
            List.of(
                    new Lane(0, "a:1 to b:1", false, 1_000_000, 20, 3, 0),
                    new Lane(1, "a:2 to b:2", true, 3_000_000, 60, 5, 7)));

    @TempDir
    private Path folder;

    private static Figures figures(String operation, long micros, boolean ceiling) {
        Samples samples = samples(operation, micros);
        Samples copy = samples(operation, micros / 2);
        return Figures.of(
                List.of(samples, samples), ceiling ? Map.of("plain", List.of(copy, copy)) : Map.of(), List.of());
    }

    private static Samples samples(String operation, long micros) {
        List<Long> nanos =
                LongStream.range(0, 30).mapToObj(i -> (micros + i) * 1000).toList();
        List<Long> rows = LongStream.range(0, 30).mapToObj(i -> 2000L).toList();
        return new Samples(operation, nanos, rows, rows, 14336, List.of(96L));
    }

    private static BenchReport report() {
        return BenchReport.of(
                new BenchReport.Environment(
                        "2026-01-02T03:04:05Z",
                        "1.2.3",
                        List.of("bench", "--ranks", "2"),
                        List.of("host-shm"),
                        "host",
                        HostFacts.here(),
                        List.of("-Xmx1g"),
                        Optional.of(new Fingerprint("host", "a model", 2, 2, 1, 1, List.of("host-shm")))),
                SPEC,
                List.of(
                        figures(Operations.HT_DISPATCH, 9000, true),
                        figures(Operations.HT_COMBINE, 8000, true),
                        figures(Operations.LL_DISPATCH, 400, true),
                        figures(Operations.LL_COMBINE, 500, true),
                        figures(Operations.LL_BY_HT, 1000, false)),
                List.of(new Sent(0, "net", List.of(LINK)), new Sent(1, "net", List.of(LINK))));
    }

    @Test
    void theJsonHasWhatEveryQueuePairSent() {
        Path file = folder.resolve("out.json");
        TextFile.writeJson(file, report());
        JsonNode sent = JsonMapper.shared().readTree(file.toFile()).get("sent");
        assertThat(sent.size()).isEqualTo(2);
        assertThat(sent.get(1).get("rank").asInt()).isEqualTo(1);
        assertThat(sent.get(1).get("backend").asString()).isEqualTo("net");
        JsonNode link = sent.get(1).get("links").get(0);
        assertThat(link.get("failovers").asInt()).isEqualTo(1);
        assertThat(link.get("lanes").get(1).get("bytes").asLong()).isEqualTo(3_000_000);
        assertThat(link.get("lanes").get(1).get("replays").asLong()).isEqualTo(7);
    }

    @Test
    void whatWasSentIsALineForEachBackend() {
        assertThat(FigureTable.sent(report().sent()))
                .containsExactly(
                        "Backend net sent 8.0 MB in 160 writes, and advanced counters of peers 16 times, over 4 queue pairs, including rounds"
                                + " that are not measured; 2 failovers, 14 requests repeated. a:1 to b:1 2.0 MB, a:2"
                                + " to b:2 6.0 MB");
    }

    @Test
    void trafficMessagesRoundTrip() {
        Sent sent = new Sent(3, "net", List.of(LINK));
        assertThat(RankMessage.decode(sent.encode())).contains(sent);
    }

    @Test
    void trafficIsGroupedByBackend() {
        EpTraffic.Lane first = EpTraffic.Lane.builder(0, "a:1 to b:1")
                .alive(false)
                .bytes(1_000_000)
                .writes(20)
                .signals(3)
                .build();
        EpTraffic.Lane second = EpTraffic.Lane.builder(1, "a:2 to b:2")
                .bytes(3_000_000)
                .writes(60)
                .signals(5)
                .replays(7)
                .build();
        List<EpTraffic> traffic = List.of(
                EpTraffic.of("net", 1, 1, List.of(first, second)),
                EpTraffic.of("other", 2, 0, List.of()),
                EpTraffic.of("net", 1, 1, List.of(first, second)));
        assertThat(Sent.of(3, traffic))
                .containsExactly(
                        new Sent(3, "net", List.of(LINK, LINK)),
                        new Sent(3, "other", List.of(new Link(2, 0, List.of()))));
    }

    @Test
    void theJsonHasEnvironmentShapeAndRawFigures() {
        Path file = folder.resolve("out.json");
        TextFile.writeJson(file, report());
        JsonNode root = JsonMapper.shared().readTree(file.toFile());
        for (String name : List.of(
                "date",
                "ep4j",
                "commandLine",
                "backends",
                "device",
                "host",
                "cpu",
                "cores",
                "memoryBytes",
                "os",
                "jdk",
                "rankJvmOptions")) {
            assertThat(root.path("environment").path(name).isMissingNode())
                    .as(name)
                    .isFalse();
        }
        assertThat(root.path("environment").path("cpu").asString()).isNotBlank();
        assertThat(root.path("environment").path("memoryBytes").asLong()).isPositive();
        assertThat(JsonMapper.shared().treeToValue(root.path("environment").path("fingerprint"), Fingerprint.class))
                .isEqualTo(new Fingerprint("host", "a model", 2, 2, 1, 1, List.of("host-shm")));
        assertThat(root.path("hidden").asInt()).isEqualTo(7168);
        assertThat(root.path("layout").asString()).isEqualTo("by-expert");
        assertThat(root.path("lowLatencyTokens").asInt()).isEqualTo(128);
        assertThat(root.path("expertGroups").asInt()).isEqualTo(8);
        assertThat(root.path("groupsPerToken").asInt()).isEqualTo(4);
        JsonNode dispatch = root.path("operations").get(0);
        assertThat(dispatch.path("operation").asString()).isEqualTo("ht.dispatch");
        assertThat(dispatch.path("roundMicros")).hasSize(30);
        assertThat(dispatch.path("percentileMicros").size()).isGreaterThan(5);
        assertThat(dispatch.path("ratioToCeiling").asDouble()).isBetween(0.49, 0.51);
        assertThat(dispatch.path("allocatedBytes").asLong()).isEqualTo(96);
        assertThat(root.path("operations").get(4).path("ratioToCeiling").isNull())
                .isTrue();
    }

    @Test
    void theAdvantageOfLowLatencyIsTheOtherModesTimeByItsOwn() {
        assertThat(report().lowLatencyAdvantage().orElseThrow()).isBetween(2.4, 2.5);
    }

    @Test
    void thePlotIsAPngOfBothModesWithInkOnIt() throws Exception {
        Path file = folder.resolve("plot.png");
        BenchPlots.times(report(), file);
        BufferedImage image = ImageIO.read(file.toFile());
        assertThat(image.getHeight()).isGreaterThan(image.getWidth());
        assertThat(java.util.stream.IntStream.range(0, image.getHeight())
                        .map(y -> image.getRGB(image.getWidth() / 4, y))
                        .distinct()
                        .count())
                .isGreaterThan(3);
    }

    @Test
    void aFileThatCannotBeWrittenIsNamed() {
        Path file = folder.resolve("no/such/folder/out");
        assertThatThrownBy(() -> TextFile.writeJson(file, report()))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining(file.toString());
        assertThatThrownBy(() -> BenchPlots.times(report(), file))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining(file.toString());
    }

    @Test
    void theTableHasALineForEachOperation() {
        String table = FigureTable.bench(report().operations());
        assertThat(table.lines().toList()).hasSize(2 + 5);
        assertThat(table).contains("HT dispatch", "LL combine, in place", "0.50", "alloc B", " 96");
    }

    /** Half a second for a round of 2,000 rows: as wide as the tables become. */
    @Test
    void theTablesOfSlowMachinesFitIntoTheWidthOfAReport() {
        List<Figures> demo = List.of(
                figures(Operations.LL_DISPATCH, 500_000, true),
                figures(Operations.LL_COMBINE, 500_000, true),
                figures(Operations.HT_DISPATCH, 500_000, true),
                figures(Operations.HT_COMBINE, 500_000, true));
        List<Figures> bench = new ArrayList<>(demo);
        bench.add(figures(Operations.HT_COMBINE_STAGED, 500_000, true));
        bench.add(figures(Operations.LL_BY_HT, 500_000, false));
        assertThat(FigureTable.bench(bench).lines()).allMatch(line -> line.length() <= 120);
        assertThat(FigureTable.demo(Map.of("ll", 4096, "ht", 65536), demo, true)
                        .indent(2)
                        .lines())
                .allMatch(line -> line.length() <= Wrapped.COLUMNS - 10);
    }
}
