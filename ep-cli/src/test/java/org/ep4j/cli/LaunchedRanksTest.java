package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Commands whose processes a launcher has started: {@code ./ep run}, which sets the variables of torchrun. */
@Tag("verify")
final class LaunchedRanksTest {
    private static final List<String> SMALL = List.of(
            "--hidden",
            "256",
            "--experts",
            "8",
            "--topk",
            "2",
            "--warmup",
            "1",
            "--iterations",
            "2",
            "--tokens",
            "16",
            "--ll-tokens",
            "4");

    @TempDir
    private Path folder;

    @Test
    void benchOfLaunchedRanksPrintsOneTable() throws Exception {
        Path json = folder.resolve("out.json");
        List<String> arguments = new ArrayList<>(List.of("bench", "--json", json.toString()));
        arguments.addAll(SMALL);
        Ran ran = launch(3, arguments);

        assertThat(ran.code()).as(ran.out()).isZero();
        assertThat(ran.out()).containsOnlyOnce("3 ranks over host-shm").containsOnlyOnce("HT combine, staged");
        assertThat(ran.out().lines()).allSatisfy(line -> assertThat(line).startsWith("[0]"));
        assertThat(Files.readString(json)).containsPattern("\"ranks\"\\s*:\\s*3");
    }

    @Test
    void conformanceRunsOnThemWithoutRulesThatKill() throws Exception {
        Ran ran = launch(2, List.of("conformance", "--backend", "host-shm", "--rule", "1\\.1|2\\.1|7\\.1"));

        assertThat(ran.code()).as(ran.out()).isZero();
        assertThat(ran.out()).contains("[0] PASSED, 3 PASS").doesNotContain("[1]");
    }

    @Test
    void rulesDoNotRunAtOnceOnThem() throws Exception {
        Ran ran = launch(2, List.of("conformance", "--backend", "host-shm", "--rule", "3\\.1", "--jobs", "2"));

        assertThat(ran.code()).as(ran.out()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.out())
                .containsOnlyOnce("--jobs is 2, must be 1 under a launcher")
                .doesNotContain("PASS");
    }

    @Test
    void aWrongOptionIsReportedOnceAndEndsAllRanks() throws Exception {
        List<String> arguments = new ArrayList<>(List.of("bench", "--ranks", "4"));
        arguments.addAll(SMALL);
        Ran ran = launch(2, arguments);

        assertThat(ran.code()).as(ran.out()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.out()).containsOnlyOnce("the number of launched ranks").contains("leave --ranks out");
    }

    @Test
    void aRankWhosePeersDoNotJoinLeavesTheGroup() {
        List<Bootstrap> ranks = Bootstrap.inProcess(2);
        assertThatThrownBy(() -> LaunchedRanks.exchangeHosts(ranks.get(0), Duration.ofMillis(50)))
                .isInstanceOf(EpTimeoutException.class);
        assertThat(ranks.get(1).state(0)).isEqualTo(MemberState.LEFT);
    }

    /** With these variables srun and mpiexec leave a process, and without any of PMIx or torchrun. */
    @ParameterizedTest
    @CsvSource({"SLURM_STEP_NUM_TASKS, 2", "SLURM_STEP_NUM_TASKS, 10", "PMI_SIZE, 4", "OMPI_COMM_WORLD_SIZE, 2"})
    void oneOfSeveralProcessesWithoutARendezvousStartsNoRanksOfItsOwn(String name, String value) {
        assertThatThrownBy(() -> LaunchedRanks.join(Map.of("SLURM_NTASKS", value, name, value)))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(name + "=" + value, "srun --mpi=pmix", "unset " + name);
    }

    /** Images bring such variables along. */
    @ParameterizedTest
    @CsvSource({
        "OMPI_COMM_WORLD_SIZE, RANK, 'WORLD_SIZE, MASTER_ADDR, MASTER_PORT'",
        "SLURM_STEP_NUM_TASKS, RANK, 'WORLD_SIZE, MASTER_ADDR, MASTER_PORT'",
        "OMPI_COMM_WORLD_SIZE, WORLD_SIZE, 'RANK, MASTER_ADDR, MASTER_PORT'"
    })
    void aVariableThatHidesPmixIsNamed(String size, String stray, String missing) {
        Map<String, String> environment = Map.of(size, "4", "PMIX_RANK", "0", "PMIX_NAMESPACE", "job", stray, "1");
        assertThatThrownBy(() -> LaunchedRanks.join(environment))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContainingAll(
                        size + "=4",
                        "its environment has " + stray + ", so PMIx is not used",
                        "missing: " + missing,
                        "unset " + stray + ",");
    }

    /** A batch script has the number of tasks, too, and an interactive shell is a step of one. */
    @Test
    void aSingleProcessOfSlurmStartsRanksOfItsOwn() {
        assertThat(LaunchedRanks.join(Map.of("SLURM_NTASKS", "4", "SLURM_PROCID", "0")))
                .isEmpty();
        assertThat(LaunchedRanks.join(Map.of("SLURM_NTASKS", "4", "SLURM_STEP_NUM_TASKS", "1")))
                .isEmpty();
    }

    /** Output of all, standard error among it. */
    private Ran launch(int ranks, List<String> arguments) throws IOException, InterruptedException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> rank =
                new ArrayList<>(List.of(java, "-Xmx256m", "-XX:MaxDirectMemorySize=1g", "-XX:TieredStopAtLevel=1"));
        if (Runtime.version().feature() >= 22) {
            rank.add("--enable-native-access=ALL-UNNAMED");
        }
        rank.addAll(
                List.of("-cp", System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))));
        rank.add(Main.class.getName());
        List<String> command = new ArrayList<>(rank);
        command.addAll(List.of("run", "-n", Integer.toString(ranks), "--"));
        command.addAll(rank);
        command.addAll(arguments);
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(process.waitFor(Guard.minutes(5).toSeconds(), TimeUnit.SECONDS))
                    .as("ended")
                    .isTrue();
            return new Ran(process.exitValue(), Files.readString(output, StandardCharsets.UTF_8), "");
        } finally {
            process.destroy();
        }
    }
}
