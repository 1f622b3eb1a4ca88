package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.ep4j.cli.report.GpuFigures;
import org.ep4j.cli.report.GpuReport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rows and columns of the bench on emulated GPUs, whose times say nothing; every element is compared before. */
@Tag("all")
final class GpuBenchRowsTest {
    private static final int ROUNDS = 2;

    @TempDir
    private Path folder;

    /** Measures operations with group-limited routing, and returns their figures. */
    private List<GpuFigures> bench(String... operations) {
        EmulatedGpus.require();
        Path json = folder.resolve("bench.json");
        List<String> arguments = new ArrayList<>(List.of("bench", "--ops", String.join(",", operations)));
        String line = "--device cuda --ranks 2 --ranks-as threads --hidden 64 --experts 8 --topk 2 --tokens 9"
                + " --ll-tokens 3 --expert-groups 4 --groups-per-token 1 --sms 2 --ll-sms 2 --chain none --warmup 1"
                + " --iterations " + ROUNDS + " --json " + json;
        arguments.addAll(List.of(line.split(" ", -1)));
        Ran ran = Ran.ep(arguments.toArray(String[]::new));
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        GpuReport report = GpuReport.read(json);
        List<GpuFigures> figures = report.runs().get(0).operations();
        assertThat(figures.stream().map(GpuFigures::operation)).containsExactly(operations);
        assertThat(report.runs().get(0).validatedElements()).isPositive();
        assertThat(report.expertGroups()).isEqualTo(4);
        assertThat(ran.out().replaceAll("\\s+", " "))
                .contains(
                        "top-2 of 8 experts in 4 groups, of which 1 for a token",
                        " p99 ",
                        " alloc B ",
                        "own rank: ",
                        "% of the rows that a rank sends in one round of each operation");
        for (GpuFigures row : figures) {
            assertThat(ran.out().lines().filter(text -> text.startsWith(row.operation() + " ")))
                    .as("a row in each table")
                    .hasSize(2)
                    .allMatch(text -> text.length() <= 120);
            check(row);
        }
        return figures;
    }

    /** What holds whatever the times are. */
    private static void check(GpuFigures row) {
        assertThat(row.rounds()).isEqualTo(ROUNDS);
        assertThat(row.gpuSlowestMicros())
                .isBetween(Collections.min(row.gpuRoundMicros()), Collections.max(row.gpuRoundMicros()));
        assertThat(row.gpuP99Micros()).isEqualTo(Collections.max(row.gpuRoundMicros()));
        assertThat(row.callMicros()).isPositive();
        assertThat(row.allocatedBytes()).isNotNegative();
        // What all ranks send is what all ranks receive.
        double sent = row.sentBytes().values().stream()
                .mapToDouble(Double::doubleValue)
                .sum();
        assertThat(sent).isCloseTo(row.logicalBytes(), within(1e-3));
        assertThat(row.sentBytes().get("own rank")).isCloseTo(row.logicalBytes() - row.wireBytes(), within(1e-3));
        assertThat(row.sentBytes()).hasSize(2);
    }

    @Test
    void rowsByExpertAreMeasuredAndHaveACeilingWhereItsKernelDoesTheSame() {
        List<GpuFigures> figures =
                bench("ht.dispatch.bf16.by-expert", "ht.combine.bf16.by-expert", "ht.combine.bf16.by-expert.partial");
        assertThat(figures.get(0).ceilingMicros()).isNaN();
        assertThat(figures.get(1).ceilingMicros()).isPositive();
        assertThat(figures.get(2).ceilingMicros()).isNaN();
        assertThat(figures).allSatisfy(row -> {
            assertThat(row.hostMicros()).isPositive();
            assertThat(row.queuedMicros()).isPositive();
            assertThat(row.logicalBytes()).isPositive();
        });
        // A row of 128 bytes for each of 9 tokens and 2 selections, whose experts are on one rank, which sends one sum.
        assertThat(figures.get(1).logicalBytes()).isEqualTo(9 * 2 * 128.0);
        assertThat(figures.get(2).logicalBytes()).isEqualTo(9 * 128.0);
    }

    @Test
    void halvesOfOperationsWithTheReceiveHookAreMeasured() {
        List<GpuFigures> figures = bench(
                "ll.dispatch.fp8.send", "ll.dispatch.fp8.receive", "ll.combine.exact.send", "ll.combine.exact.receive");
        assertThat(figures).allSatisfy(row -> {
            assertThat(row.gpuMicros()).isPositive();
            assertThat(row.ceilingMicros()).isNaN();
            assertThat(row.hostMicros()).isNaN();
            assertThat(row.queuedMicros()).isNaN();
            boolean sends = row.operation().endsWith(".send");
            assertThat(row.logicalBytes() > 0).isEqualTo(sends);
        });
    }
}
