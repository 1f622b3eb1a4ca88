package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.StreamSupport;
import org.ep4j.EpConfig;
import org.ep4j.cli.rank.ExchangeSpec;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Demo and bench with small shapes, through real processes. */
@Tag("verify")
final class DemoAndBenchTest {
    @TempDir
    private Path folder;

    private static Ran bench(String line) {
        List<String> args = new ArrayList<>(List.of("bench"));
        args.addAll(List.of(
                ("--hidden 512 --experts 16 --topk 4 --tokens 32 --ll-tokens 8 --warmup 1 --iterations 3 " + line)
                        .split(" ", -1)));
        return Ran.ep(args.toArray(String[]::new));
    }

    @Test
    void theDemoComparesEveryElementAndPrintsPlanAndResults() {
        Ran ran = Ran.ep(
                "demo",
                "--ranks",
                "3",
                "--hidden",
                "256",
                "--experts",
                "10",
                "--topk",
                "3",
                "--decode-tokens",
                "5",
                "--prefill-tokens",
                "17",
                "--iterations",
                "2");
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out())
                .contains(
                        "Plan",
                        "host-shm",
                        "all 6 pairs",
                        "low-latency dispatch",
                        "low-latency combine",
                        "high-throughput dispatch",
                        "high-throughput combine",
                        "These are times of cold rounds",
                        "all valid");
        assertThat(ran.out()).doesNotContain("WRONG");
        // Combined rows: tokens x hidden, on 3 ranks, in 2 rounds.
        assertThat(line(ran, "low-latency combine")).contains(" " + 5 * 256 * 3 * 2 + " ");
        assertThat(line(ran, "high-throughput combine")).contains(" " + 17 * 256 * 3 * 2 + " ");
    }

    @Test
    void theBenchMeasuresEveryOperationAndWritesJsonAndPlot() throws Exception {
        Path json = folder.resolve("out.json");
        Path plot = folder.resolve("out.png");
        Ran ran = bench("--ranks 2 --mode both --json " + json + " --plot " + plot);
        assertThat(ran.code()).as(ran.err()).isZero();
        JsonNode root = JsonMapper.shared().readTree(json.toFile());
        List<String> operations = StreamSupport.stream(root.path("operations").spliterator(), false)
                .map(o -> o.path("operation").asString())
                .toList();
        assertThat(operations)
                .containsExactly(
                        "ht.dispatch",
                        "ht.combine",
                        "ht.combine.staged",
                        "ll.dispatch",
                        "ll.combine",
                        "ll.dispatch.send",
                        "ll.dispatch.receive",
                        "ll.dispatch+combine",
                        "ll.tokens-by-ht.dispatch");
        for (JsonNode operation : root.path("operations")) {
            assertThat(operation.path("medianMicros").asDouble()).isPositive();
            assertThat(operation.path("roundMicros")).hasSize(3);
            assertThat(operation.path("problem").asString()).isEmpty();
            assertThat(operation.path("allocatedBytes").isIntegralNumber()).isTrue();
            assertThat(operation.path("allocatedBytes").asLong()).isNotNegative();
            boolean checked = !operation.path("operation").asString().equals("ll.dispatch.send");
            assertThat(operation.path("validatedElements").asLong() > 0)
                    .as(operation.path("operation").asString())
                    .isEqualTo(checked);
        }
        assertThat(root.path("environment").path("backends").get(0).asString()).isEqualTo("host-shm");
        JsonNode fingerprint = root.path("environment").path("fingerprint");
        assertThat(fingerprint.path("device").asString()).isEqualTo("host");
        assertThat(fingerprint.path("ranks").asInt()).isEqualTo(2);
        assertThat(fingerprint.path("processors").asInt()).isPositive();
        assertThat(fingerprint.path("backends").get(0).asString()).isEqualTo("host-shm");
        assertThat(root.path("environment").path("commandLine").get(0).asString())
                .isEqualTo("bench");
        assertThat(Files.size(plot)).isPositive();
        assertThat(ran.out().replaceAll("\\s+", " "))
                .contains("times as fast as the same exchange through high-throughput mode");
    }

    @Tag("all")
    @ParameterizedTest
    @ValueSource(
            strings = {
                "--ranks 2 --mode ht --dtype fp8",
                "--ranks 2 --mode ll --dtype fp8",
                "--ranks 3 --mode ht --layout by-expert --skew 1.2",
                "--ranks 2 --mode both --expert-groups 4 --groups-per-token 2",
                "--ranks 1 --mode both",
                "--ranks 2 --mode both --no-validate --seed 5 --backend host-shm",
            })
    void theBenchRunsInEveryForm(String options) {
        Ran ran = bench(options);
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out()).contains("p99 us", "alloc B").doesNotContain("WRONG");
    }

    @Test
    void aBackendThatIsNotThereIsUnavailableAndNamed() {
        Ran ran = bench("--backend nothing-here");
        assertThat(ran.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err()).contains("nothing-here", "host-shm").doesNotContain("\tat ");
    }

    @Test
    void aDeviceThatIsNotThereIsUnavailable() {
        Ran ran = bench("--device cuda:99");
        assertThat(ran.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err()).contains("cuda");
    }

    @ParameterizedTest
    @ValueSource(strings = {"demo", "bench", "conformance"})
    void withoutTheOptionTheSettingNamesTheDevice(String command) throws Exception {
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(
                        LocalRanks.javaCommand(List.of(), Main.class.getName(), List.of(command)))
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().put("EP_DEVICE", "tpu:x");
        Process process = builder.start();
        try {
            assertThat(process.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).as(Files.readString(output)).isEqualTo(ExitCodes.USAGE);
        assertThat(Files.readString(output)).contains("device is tpu:x");
    }

    @Test
    void theOptionWinsOverTheSetting() {
        EpConfig config =
                EpConfig.builder(Map.of("ep.device", "cuda:1"), Map.of()).build();
        assertThat(ExchangeSpec.device("", config)).isEqualTo("cuda:1");
        assertThat(ExchangeSpec.device("host", config)).isEqualTo("host");
        assertThat(ExchangeSpec.device("", EpConfig.builder(Map.of(), Map.of()).build()))
                .isEqualTo("host");
    }

    private static String line(Ran ran, String begin) {
        return ran.out()
                        .lines()
                        .filter(l -> l.strip().startsWith(begin))
                        .findFirst()
                        .orElseThrow() + " ";
    }
}
