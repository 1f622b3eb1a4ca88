package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("verify")
final class RunCommandTest {
    @TempDir
    private Path folder;

    private static Ran run(int ranks, String script, String... options) {
        List<String> line = new java.util.ArrayList<>(List.of("run", "-n", Integer.toString(ranks)));
        line.addAll(List.of(options));
        line.addAll(List.of("--", "sh", "-c", script));
        return Ran.ep(line.toArray(String[]::new));
    }

    @Test
    void everyRankGetsTorchrunsVariables() {
        Ran ran = run(3, "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR", "--master-port", "12345");
        assertThat(ran.code()).isZero();
        assertThat(ran.out().lines())
                .containsExactlyInAnyOrder("[0] 0 0 3 3 127.0.0.1", "[1] 1 1 3 3 127.0.0.1", "[2] 2 2 3 3 127.0.0.1");
    }

    @Test
    void portAndSecretAreTheSameOnAllRanks() {
        Ran ran = run(3, "echo $MASTER_PORT $EP_BOOTSTRAP_SECRET");
        var seen = ran.out().lines().map(l -> l.substring(4)).collect(Collectors.toSet());
        assertThat(seen).hasSize(1);
        String[] parts = seen.iterator().next().split(" ", -1);
        assertThat(Integer.parseInt(parts[0])).isBetween(1, 65535);
        assertThat(parts[1]).hasSizeGreaterThanOrEqualTo(32);
    }

    @Test
    void twoRunsHaveDifferentSecrets() {
        assertThat(run(1, "echo $EP_BOOTSTRAP_SECRET").out())
                .isNotEqualTo(run(1, "echo $EP_BOOTSTRAP_SECRET").out());
    }

    @Test
    void theGivenPortIsUsed() {
        assertThat(run(2, "echo $MASTER_PORT", "--master-port", "23456").out().lines())
                .containsExactlyInAnyOrder("[0] 23456", "[1] 23456");
    }

    @Test
    void linesOfEveryRankArriveWholeAndInOrderOnTheirStream() {
        Ran ran = run(4, "i=0; while [ $i -lt 200 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done");
        for (int rank = 0; rank < 4; rank++) {
            String prefix = "[" + rank + "] ";
            assertThat(ran.out().lines().filter(l -> l.startsWith(prefix)).toList())
                    .isEqualTo(IntStream.range(0, 200)
                            .mapToObj(i -> prefix + "out " + i)
                            .toList());
            assertThat(ran.err().lines().filter(l -> l.startsWith(prefix)).toList())
                    .isEqualTo(IntStream.range(0, 200)
                            .mapToObj(i -> prefix + "err " + i)
                            .toList());
        }
    }

    @Test
    void aLastLineWithoutItsEndIsShownToo() {
        assertThat(run(1, "printf unfinished").out()).isEqualToIgnoringNewLines("[0] unfinished");
    }

    @Test
    void theExitCodeOfTheRankThatFailsFirstIsPassedOnAndTheOthersAreEnded() {
        Ran ran = assertTimeoutPreemptively(
                Guard.minute(), () -> run(3, "if [ $RANK = 1 ]; then exit 7; fi; exec sleep 100000"));
        assertThat(ran.code()).isEqualTo(7);
        assertThat(ran.err()).contains("rank 1 ended with exit code 7");
    }

    @Test
    void aRankThatDiesBySignalGives128PlusTheSignal() {
        Ran ran = assertTimeoutPreemptively(
                Guard.minute(), () -> run(2, "if [ $RANK = 0 ]; then kill -9 $$; fi; exec sleep 100000"));
        assertThat(ran.code()).isEqualTo(137);
        assertThat(ran.err()).contains("rank 0 was killed by signal 9");
    }

    @Test
    void aRankThatIgnoresTermIsKilledWithWhatItStarted() throws Exception {
        Path pids = folder.resolve("pids");
        String script = "if [ $RANK = 1 ]; then while [ ! -s " + pids + " ]; do sleep 0.05; done; exit 3; fi;"
                + " trap '' TERM; sleep 100000 & echo $! $$ > " + pids + "; wait; wait; sleep 100000";
        Ran ran = assertTimeoutPreemptively(Guard.minute(), () -> run(2, script, "--grace", "1"));
        assertThat(ran.code()).isEqualTo(3);
        for (String pid : Files.readString(pids, StandardCharsets.UTF_8).strip().split(" ", -1)) {
            awaitGone(pid);
        }
    }

    @Test
    void anOrphanThatHoldsThePipeDoesNotHoldTheLauncher() throws Exception {
        Path pid = folder.resolve("pid");
        try {
            Ran ran = assertTimeoutPreemptively(
                    Guard.minute(), () -> run(1, "sleep 100000 & echo $! > " + pid + "; echo done"));
            assertThat(ran.code()).isZero();
            assertThat(ran.out()).contains("[0] done");
        } finally {
            ProcessHandle.of(Long.parseLong(Files.readString(pid).strip())).ifPresent(ProcessHandle::destroyForcibly);
        }
    }

    @Test
    void aCommandThatDoesNotExistIsUnavailable() {
        Ran ran = Ran.ep("run", "-n", "2", "--", folder.resolve("missing").toString());
        assertThat(ran.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err()).contains("cannot start", "missing");
    }

    @Test
    void optionsBehindTheDashesBelongToTheCommand() {
        assertThat(Ran.ep("run", "-n", "1", "--", "echo", "-n", "--help", "--verbose")
                        .out()
                        .strip())
                .isEqualTo("[0] --help --verbose");
    }

    @Test
    void optionsOfTheCommandWithoutTheDashesAreAnsweredWithThem() {
        Ran ran = Ran.ep("run", "-n", "2", "java", "-cp", "app.jar", "Main");
        assertThat(ran.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).contains("'-cp'", "put -- before the command", "see: ep run --help");
        assertThat(Ran.ep("run", "-n", "2", "--gracious", "--", "java").err()).doesNotContain("put --");
        assertThat(Ran.ep("bench", "-cp").err()).doesNotContain("put --");
    }

    @Test
    void aSignalToTheLauncherEndsTheRanks() throws Exception {
        Path pids = folder.resolve("pid");
        List<String> command = LocalRanks.javaCommand(
                List.of(),
                Main.class.getName(),
                List.of(
                        "run",
                        "-n",
                        "2",
                        "--grace",
                        "1",
                        "--",
                        "sh",
                        "-c",
                        "echo $$ >> " + pids + "; exec sleep 100000"));
        Process launcher = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            while (!Files.exists(pids) || Files.readAllLines(pids).size() < 2) {
                assertThat(launcher.isAlive()).isTrue();
                Thread.sleep(20);
            }
            launcher.destroy();
            assertThat(launcher.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            assertThat(launcher.exitValue()).isEqualTo(143);
            for (String pid : Files.readAllLines(pids)) {
                awaitGone(pid);
            }
        } finally {
            launcher.destroyForcibly();
        }
    }

    /** The system takes its time to bury a process. */
    private static void awaitGone(String pid) {
        Guard.until(
                "process " + pid + " has ended",
                () -> ProcessHandle.of(Long.parseLong(pid))
                        .filter(ProcessHandle::isAlive)
                        .isEmpty());
    }
}
