package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;
import org.ep4j.cli.gpu.GpuOperation;
import org.ep4j.cli.gpu.GpuSpec;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.cli.rank.RankMessage;
import org.ep4j.cli.rank.RankMessage.GpuSamples;
import org.ep4j.cli.rank.RankMessage.Joined;
import org.ep4j.cli.rank.RankMessage.OnGpu;
import org.ep4j.plan.Fingerprint;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Figures, tables and files of a bench on GPUs, from samples. */
@Tag("verify")
final class GpuFiguresTest {
    private static final String HALF = "ll.dispatch.fp8.send";
    private static final String WIDEST = "ht.combine.bf16.by-expert.partial";
    private static final Fingerprint FINGERPRINT =
            new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of("ipc-nvlink"));

    @TempDir
    private Path folder;

    private static GpuSamples samples(String operation, List<Long> gpu, List<Long> allocated, double own) {
        boolean half = operation.equals(HALF);
        return new GpuSamples(
                operation,
                4096,
                gpu,
                gpu,
                half ? List.of() : List.of(7_000L),
                half ? List.of() : List.of(9_000_000L),
                half ? List.of() : gpu,
                List.of(5_000L),
                211.8e6,
                158.7e6,
                Map.of("own rank", own, "mapped memory, ipc-nvlink", 100e6 - own),
                allocated);
    }

    private static GpuReport report(List<GpuSamples> first, List<GpuSamples> second) {
        ExchangeSpec work =
                new ExchangeSpec(2, "cuda", "", 7168, 8, 256, List.of(), 0, 8, 4, 0, 1, false, 1, false, 5, "");
        GpuSpec spec =
                new GpuSpec(work, List.of(4096), List.of(128), 0, 0, List.of(GpuOperation.values()), 0, 1, List.of());
        List<List<RankMessage>> messages = new ArrayList<>();
        for (List<GpuSamples> rank : List.of(first, second)) {
            List<RankMessage> all = new ArrayList<>(rank);
            all.add(new Joined("", List.of("ipc-nvlink"), 1, 2, FINGERPRINT, List.of()));
            all.add(new OnGpu("cuda:0 is a GPU", "sm_90", 132, 24, 132));
            messages.add(all);
        }
        return new GpuReport(
                GpuReport.FORMAT,
                new BenchReport.Environment(
                        "2026-01-02T03:04:05Z",
                        "1.2.3",
                        List.of(),
                        List.of(),
                        "cuda",
                        HostFacts.here(),
                        List.of(),
                        Optional.of(FINGERPRINT)),
                2,
                "processes",
                7168,
                8,
                256,
                0,
                8,
                4,
                0,
                1,
                5,
                List.of(GpuFigures.run(spec, messages)));
    }

    private static GpuReport report(String operation) {
        List<Long> rounds = List.of(123_456_000L, 234_567_000L);
        return report(
                List.of(samples(operation, rounds, List.of(0L, 64L, 4_000L), 20e6)),
                List.of(samples(operation, rounds, List.of(64L, 96L, 64L), 30e6)));
    }

    private static GpuFigures figures(GpuReport report) {
        return report.runs().get(0).operations().get(0);
    }

    @Test
    void theNinetyNinthPercentileIsThatOfTheSlowestRankOfEachRound() {
        List<Long> rising =
                LongStream.rangeClosed(1, 200).map(i -> 1_000 * i).boxed().toList();
        List<Long> slower = rising.stream().map(nanos -> nanos + 500).toList();
        GpuFigures all = figures(
                report(List.of(samples(WIDEST, rising, List.of(), 0)), List.of(samples(WIDEST, slower, List.of(), 0))));
        assertThat(all.gpuP99Micros()).isEqualTo(198.5);
        assertThat(all.allocatedBytes()).isNaN();
        GpuFigures few = figures(report(WIDEST));
        assertThat(few.gpuP99Micros()).isEqualTo(234_567.0);
        assertThat(few.gpuSlowestMicros()).isLessThan(few.gpuP99Micros());
    }

    @Test
    void allocatedBytesAreTheMedianOfAllCallsAndSentBytesTheMeanOfTheRanks() {
        GpuFigures one = figures(report(WIDEST));
        assertThat(one.allocatedBytes()).isEqualTo(64.0);
        assertThat(one.sentBytes()).containsOnlyKeys("own rank", "mapped memory, ipc-nvlink");
        assertThat(one.sentBytes().get("own rank")).isCloseTo(25e6, within(1.0));
        String share = " % of the rows that a rank sends in one round of each operation";
        assertThat(FigureTable.sentByPath(report(WIDEST)))
                .containsExactly("mapped memory, ipc-nvlink: 75.0 MB, 75.0" + share, "own rank: 25.0 MB, 25.0" + share);
    }

    @Test
    void whatIsNotMeasuredIsADash() {
        String times = FigureTable.gpuTimes(report(HALF));
        assertThat(times.lines().skip(2)).singleElement().asString().matches(HALF + ".* - +-$");
        String host = FigureTable.gpuHostSide(report(HALF));
        assertThat(host.lines().skip(2)).singleElement().asString().matches(HALF + ".*\\d +- +- +64$");
    }

    @Test
    void theTablesAreAtMost120ColumnsWideAlsoWhereTimesAreLong() {
        GpuReport report = report(WIDEST);
        for (String table : List.of(FigureTable.gpuTimes(report), FigureTable.gpuHostSide(report))) {
            assertThat(table.lines()).hasSize(3).allMatch(line -> line.length() <= 120);
        }
    }

    @Test
    void aFileThatIsWrittenIsReadAndSoIsOneOfFormat2() throws Exception {
        Path file = folder.resolve("bench.json");
        GpuReport report = report(HALF);
        TextFile.writeJson(file, report);
        assertThat(GpuReport.read(file)).isEqualTo(report);

        JsonNode root = JsonMapper.shared().readTree(file.toFile());
        assertThat(root.path("environment").path("fingerprint").path("model").asString())
                .isEqualTo("sm_90");
        remove(root, "expertGroups", "groupsPerToken");
        remove(root.path("environment"), "fingerprint");
        remove(root.path("runs").get(0), "chains", "sent");
        remove(root.path("runs").get(0).path("operations").get(0), "gpuP99Micros", "allocatedBytes", "sentBytes");
        Files.writeString(file, JsonMapper.shared().writeValueAsString(root));
        GpuReport old = GpuReport.read(file);
        assertThat(old.expertGroups()).isZero();
        assertThat(old.environment().fingerprint()).isEmpty();
        assertThat(old.environment().machine()).isEqualTo(report.environment().machine());
        assertThat(figures(old).sentBytes()).isEmpty();
        assertThat(figures(old).gpuSlowestMicros()).isEqualTo(figures(report).gpuSlowestMicros());
    }

    private static void remove(JsonNode from, String... names) {
        ((ObjectNode) from).remove(Arrays.asList(names));
    }
}
