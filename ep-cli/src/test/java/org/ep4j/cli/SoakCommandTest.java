package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Timeout(180)
final class SoakCommandTest {
    @TempDir
    private Path folder;

    @Test
    void processesRecoverFromKillsAndTheReportIsWritten() throws Exception {
        Path json = folder.resolve("soak.json");
        Ran ran = Ran.ep(
                "soak",
                "--faults",
                "none,kill",
                "--rounds",
                "4",
                "--ranks",
                "3",
                "--seed",
                "11",
                "--tokens",
                "32",
                "--counters",
                "mixed",
                "--set",
                "ep.bootstrap.heartbeat-timeout=10s",
                "--logs",
                folder.resolve("logs").toString(),
                "--json",
                json.toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out()).contains("seed 11", "again: ./ep soak --faults none,kill --seed 11", "passed");
        JsonNode root = JsonMapper.shared().readTree(json.toFile());
        assertThat(root.path("passed").asBoolean()).isTrue();
        assertThat(root.path("rounds").asInt()).isEqualTo(4);
        assertThat(root.path("byFault").path("kill").path("rounds").asInt()).isEqualTo(2);
        assertThat(root.path("recoveries").path("count").asInt()).isEqualTo(2);
        assertThat(root.path("elements").asLong()).isGreaterThan(100_000);
        assertThat(root.path("problems").path("wrong rows").asInt(-1)).isZero();
        assertThat(folder.resolve("logs").resolve("rank-0.log")).isNotEmptyFile();
    }

    @Test
    void threadsExchangeAndCloseAtDifferentTimes() {
        Ran ran = Ran.ep(
                "soak",
                "--mode",
                "threads",
                "--faults",
                "none",
                "--rounds",
                "2",
                "--ranks",
                "2",
                "--tokens",
                "16",
                "--set",
                "ep.bootstrap.heartbeat-timeout=10s",
                "--logs",
                folder.toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out()).contains("2 ranks as threads", "passed");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--faults|earthquake|--faults",
                "--faults|port-down|only ibrc-multiqp fails over",
                "--duration|10|--duration",
                "--counters|high|near-2-32",
                "--ranks|1|--ranks",
                "--hidden|100|--hidden",
                "--hidden|-1|0, or a multiple of 16",
                "--hold|6000|at most half of ep.timeout",
                "--set|ep.bootstrap.heartbeat=5s|at most half of ep.bootstrap.heartbeat-timeout",
                "--set|ep.device=cuda|use --device",
                "--set|ep.backend.require=efa|use --backend",
                "--logs|/dev/null/logs|--logs",
                "--set|ep.timeuot=3s|ep.timeuot",
                "--rounds|0|--rounds"
            })
    void wrongArgumentsAreRefusedInOneLine(String option, String value, String said) {
        Ran ran = Ran.ep("soak", option, value);
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err().lines()).singleElement().asString().contains(said);
        assertThat(ran.out()).isEmpty();
    }

    @Test
    void aBackendThatIsNotThereIsToldBeforeAnyRound() {
        Ran ran = Ran.ep("soak", "--backend", "nothing-here");
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err()).contains("backend nothing-here is not on the class path");
        assertThat(ran.out()).isEmpty();
    }

    @Test
    void threadsAreNotKilled() {
        Ran ran = Ran.ep("soak", "--mode", "threads", "--faults", "kill");
        assertThat(ran.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).contains("ranks are threads");
    }
}
