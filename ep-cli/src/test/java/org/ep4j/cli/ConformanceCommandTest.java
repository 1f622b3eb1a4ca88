package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class ConformanceCommandTest {
    @TempDir
    private Path folder;

    @Test
    void rulesRunInBothModesAndTheResultsAreWritten() throws Exception {
        Path json = folder.resolve("c.json");
        Path markdown = folder.resolve("c.md");
        Ran ran = Ran.ep(
                "conformance",
                "--backend",
                "host-shm",
                "--device",
                "host",
                "--ranks",
                "2",
                "--rule",
                "3\\.[12]",
                "--json",
                json.toString(),
                "--markdown",
                markdown.toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out()).contains("4 checks, 2 ranks", "chapter", "PASSED, 4 PASS");
        JsonNode root = JsonMapper.shared().readTree(json.toFile());
        assertThat(root.path("passed").asBoolean()).isTrue();
        assertThat(root.path("results")).hasSize(4);
        assertThat(root.path("environment").path("backend").asString()).isEqualTo("host-shm");
        assertThat(Files.readString(markdown)).contains("# Conformance of host-shm", "| 3.1 |", "| 3.2 |");
    }

    @Test
    void oneModeRunsEachRuleOnce() {
        Ran ran = Ran.ep("conformance", "--ranks", "2", "--mode", "threads", "--rule", "3\\.1");
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out()).contains("1 checks, 2 ranks", "PASSED, 1 PASS");
    }

    /** Rules of what it lacks do not run, and those run that its use is refused: host-shm has all and refuses nothing. */
    @Test
    void aCapabilityThatIsLeftOutHasToBeRefused() {
        Ran ran = Ran.ep(
                "conformance",
                "--ranks",
                "2",
                "--mode",
                "threads",
                "--rule",
                "6\\.(2|40)",
                "--without",
                "recover",
                "--verbose");
        assertThat(ran.code()).as(ran.out() + ran.err()).isOne();
        assertThat(ran.out())
                .contains("1 UNSUPPORTED", "1 FAIL", "must throw EpUnavailableException, but was accepted");
    }

    @Test
    void aMissingBackendIsReportedOnceWithTheInstalledOnes() {
        Ran ran = Ran.ep("conformance", "--backend", "nothing-here", "--mode", "threads", "--rule", "3\\.1");
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err())
                .contains("backend nothing-here is not on the class path, which has: ", "host-shm, ibrc-multiqp");
    }

    @Test
    void settingsAreRefusedOnceBeforeAnyRuleRuns() {
        Ran ran = Ran.ep(
                "conformance",
                "--ranks",
                "2",
                "--rule",
                "3\\..*",
                "--set",
                "ep.timeuot=3s",
                "--set",
                "ep.host.ranks=-1");
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.out()).doesNotContain("checks", "FAIL");
        assertThat(ran.err())
                .containsOnlyOnce("unknown key ep.timeuot")
                .containsOnlyOnce("ep.host.ranks is \"-1\" (from BUILDER), must be an integer from 0 to 1048576")
                .contains("the nearest known one is ep.timeout");
    }

    @Test
    void aGroupThatCannotBeJoinedIsRefusedOnceBeforeAnyRuleRuns() {
        Ran ran = Ran.ep("conformance", "--ranks", "2", "--rule", "3\\..*", "--set", "ep.backend.require=nothing-here");
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.out()).doesNotContain("FAIL", "3.1 ");
        assertThat(ran.err()).containsOnlyOnce("backend nothing-here is not on the class path");
    }

    @Test
    void rulesWithProcessesRunAtOnceAndTheTableIsTheSame() {
        Ran ran = Ran.ep("conformance", "--ranks", "2", "--rule", "3\\.[1-4]", "--jobs", "2");
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out()).contains("8 checks, 2 ranks", "PASSED, 8 PASS");
    }

    @Test
    void fewerJobsThanOneAreRefused() {
        Ran ran = Ran.ep("conformance", "--ranks", "2", "--rule", "3\\.1", "--jobs", "0");
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.out()).doesNotContain("checks");
        assertThat(ran.err()).contains("--jobs is 0, must be >= 1");
    }

    @Test
    void aRunThatIsKilledLeavesTheResultsThatItHad() throws Exception {
        Path json = folder.resolve("c.json");
        Path markdown = folder.resolve("c.md");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName(),
                        "conformance",
                        "--ranks",
                        "2",
                        "--mode",
                        "threads",
                        "--json",
                        json.toString(),
                        "--markdown",
                        markdown.toString())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("out").toFile())
                .start();
        JsonNode root = JsonMapper.shared().readTree("{}");
        while (root.path("results").size() < 3) {
            assertThat(process.isAlive()).as(folder.resolve("out").toString()).isTrue();
            Thread.sleep(20);
            // Whole at any moment.
            root = Files.exists(json) ? JsonMapper.shared().readTree(json.toFile()) : root;
        }
        process.destroyForcibly().waitFor();

        root = JsonMapper.shared().readTree(json.toFile());
        assertThat(root.path("passed").asBoolean()).isFalse();
        assertThat(root.path("results").size()).isBetween(3, root.path("checks").asInt() - 1);
        assertThat(root.path("environment").path("backend").asString()).isEqualTo("host-shm");
        assertThat(Files.readString(markdown)).contains(" of " + root.path("checks") + " checks", "| 1.1 |");
    }

    @Test
    void aFileThatCannotBeWrittenIsReportedBeforeAnyRuleRuns() {
        Path nowhere = folder.resolve("nowhere/c.json");
        Ran ran = Ran.ep("conformance", "--ranks", "2", "--rule", "3\\.1", "--json", nowhere.toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.out()).doesNotContain("PASS");
        assertThat(ran.err()).contains("cannot write " + nowhere, "there is no such folder");
    }
}
