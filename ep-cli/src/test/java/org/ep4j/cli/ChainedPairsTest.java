package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.ep4j.cli.report.GpuReport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Chains of low-latency pairs in the bench, on emulated GPUs, whose times say nothing. */
@Tag("verify")
final class ChainedPairsTest {
    private static final String EXACT = "ll.dispatch-fp8+combine.exact";

    @TempDir
    private Path folder;

    private Ran pairs(Path json, String chain) {
        EmulatedGpus.require();
        String line = "--device cuda --ranks 2 --ranks-as threads --mode ll --ops " + EXACT
                + " --hidden 64 --experts 4 --topk 2 --ll-tokens 2 --ll-sms 2 --warmup 0 --iterations 1 --no-validate"
                + " --chain " + chain + " --json " + json;
        return bench(line);
    }

    private static Ran bench(String line) {
        List<String> arguments = new ArrayList<>(List.of("bench"));
        arguments.addAll(List.of(line.split(" ", -1)));
        return Ran.ep(arguments.toArray(String[]::new));
    }

    @Test
    void chainsAreMeasuredQueuedAndByGraph() {
        Path json = folder.resolve("bench.json");
        Ran ran = pairs(json, "3,1");
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        String row =
                "(?m)^ll\\.dispatch-fp8\\+combine\\.exact +%d +%s( +\\d+\\.\\d\\d){3} +\\d+\\.\\d +[+-]\\d+\\.\\d$";
        assertThat(ran.out())
                .containsPattern(row.formatted(3, "queued"))
                .containsPattern(row.formatted(3, "graph"))
                .containsPattern(row.formatted(1, "queued"))
                .containsPattern(row.formatted(1, "graph"))
                .contains("Chains: 128 pairs of an FP8 dispatch and a combine");
        JsonNode root = JsonMapper.shared().readTree(json.toFile());
        assertThat(root.path("format").asInt()).isEqualTo(GpuReport.FORMAT);
        JsonNode fingerprint = root.path("environment").path("fingerprint");
        assertThat(fingerprint.path("device").asString()).isEqualTo("cuda");
        assertThat(fingerprint.path("processors").asInt())
                .isEqualTo(
                        root.path("runs").get(0).path("gpu").path("processors").asInt());
        JsonNode chains = root.path("runs").get(0).path("chains");
        assertThat(chains).hasSize(4);
        for (JsonNode chain : chains) {
            assertThat(chain.path("operation").asString()).isEqualTo(EXACT);
            assertThat(chain.path("chains").asInt()).isEqualTo(1);
            assertThat(chain.path("pairs").asInt()).isEqualTo(112);
            assertThat(chain.path("rankMicros")).hasSize(2);
            assertThat(chain.path("chainMicros")).hasSize(1);
            assertThat(chain.path("minMicros").asDouble()).isPositive();
            assertThat(chain.path("periodMicros").asDouble())
                    .isBetween(
                            chain.path("minMicros").asDouble(),
                            chain.path("maxMicros").asDouble());
            assertThat(chain.path("spread").asDouble()).isZero();
            assertThat(chain.path("drift").asDouble()).isGreaterThan(-1);
        }
        assertThat(GpuReport.read(json).runs().get(0).chains()).hasSize(4);
    }

    @Test
    void noneLeavesChainsOut() {
        Path json = folder.resolve("bench.json");
        Ran ran = pairs(json, "none");
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out()).contains(EXACT).doesNotContain("Chains", "drift");
        assertThat(JsonMapper.shared()
                        .readTree(json.toFile())
                        .path("runs")
                        .get(0)
                        .path("chains"))
                .isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "--device cuda --chain 0, '--chain is 0, must be a number in [1, 512], or none alone'",
        "--device cuda --chain 513, '--chain is 513, must be a number in [1, 512]'",
        "--device cuda --chain x, '--chain is x, must be a number'",
        "'--device cuda --chain 8,none', '--chain is none, must be a number'",
        "'--device cuda --mode ht --chain 8,64', '--chain is 8,64, must be used where low-latency pairs are measured'",
        "--device cuda --ops ll.combine --chain 8, 'choose --mode ll or both, and --ops ll.dispatch-fp8+combine'",
        "--device host --chain 8, 'a GPU with --ops'",
    })
    void wrongValuesAreRefusedBeforeAnyRankStarts(String line, String why) {
        Ran ran = bench(line);
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err().replaceAll("\\s+", " ")).contains(why);
    }
}
