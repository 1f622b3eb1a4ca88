package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpArgumentException;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.ExitCodes.RankFailedException;
import org.ep4j.cli.report.ProgressView;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Comparisons of builds with small shapes. The other build is a script that runs this one, or only writes results. */
@Tag("verify")
final class BuildComparisonTest {
    private static final String SMALL =
            "--ranks 1 --mode ht --hidden 256 --experts 8 --topk 2 --tokens 16 --warmup 1 --iterations 3";

    /** Script that writes the results in {@code $1} where it is asked for them. */
    private static final String WRITES = "echo \"$@\" >> $(dirname $0)/calls\n"
            + "for argument; do case $argument in --json=*) echo '%s' > ${argument#--json=};; esac; done";

    private static final String OLD_RESULTS =
            "{\"format\":1,\"operations\":[{\"operation\":\"ht.dispatch\",\"medianMicros\":%s},"
                    + "{\"operation\":\"gone\",\"medianMicros\":5}]}";

    @TempDir
    private Path folder;

    private void otherBuild(String script) throws IOException {
        Path file = Files.writeString(folder.resolve("ep"), "#!/bin/sh\n" + script + "\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
    }

    private Ran compare(String options) {
        List<String> arguments = new ArrayList<>(List.of("bench", "--compare", folder.toString()));
        arguments.addAll(List.of((SMALL + " " + options).strip().split(" ", -1)));
        return Ran.ep(arguments.toArray(String[]::new));
    }

    @Test
    void everyOperationIsMeasuredInEveryTurnByBothBuilds() throws Exception {
        otherBuild("exec " + System.getProperty("java.home") + "/bin/java -cp '" + System.getProperty("java.class.path")
                + "' " + Main.class.getName() + " \"$@\"");
        Path json = folder.resolve("comparison.json");
        Ran ran = compare("--turns 1 --json " + json);

        assertThat(ran.code()).as(ran.err()).isZero();
        JsonNode root = JsonMapper.shared().readTree(json.toFile());
        assertThat(root.path("turns").asInt()).isEqualTo(1);
        assertThat(root.path("onlyThis")).isEmpty();
        assertThat(root.path("onlyOther")).isEmpty();
        assertThat(root.path("environment").path("device").asString()).isEqualTo("host");
        assertThat(root.path("otherEnvironment").path("device").asString()).isEqualTo("host");
        assertThat(root.path("operations")).hasSizeGreaterThan(1);
        for (JsonNode operation : root.path("operations")) {
            String name = operation.path("name").asString();
            assertThat(ran.out()).contains(name);
            assertThat(operation.path("thisTurnMicros")).as(name).hasSize(1);
            assertThat(operation.path("otherTurnMicros")).as(name).hasSize(1);
            assertThat(operation.path("minRatio").asDouble()).as(name).isPositive();
            assertThat(operation.path("ratio").asDouble())
                    .as(name)
                    .isBetween(
                            operation.path("minRatio").asDouble(),
                            operation.path("maxRatio").asDouble());
        }
        assertThat(ran.out())
                .containsPattern("\nSlower than the other build: \\d of "
                        + root.path("operations").size() + " operations");
    }

    @Test
    void anOlderBuildMeasuresInTurnsWithTheSameOptionsAndSeeds() throws Exception {
        otherBuild(WRITES.formatted(OLD_RESULTS.formatted("1e12")));
        Ran ran = compare("--turns 2 --seed 7 --fail-above 2 --json=" + folder.resolve("comparison.json"));

        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out())
                .containsPattern("ht\\.dispatch +\\d+.* faster")
                .contains("Measured only by this build: ht.combine", "Measured only by the other build: gone")
                .contains("Slower than the other build: 0 of 1 operations; faster: 1, same: 0, unclear: 0.");
        assertThat(ran.err().lines())
                .containsExactly(
                        "bench: 1 of 4 (turn 1 of 2, the build in " + folder + ")",
                        "bench: 2 of 4 (turn 1 of 2, this build)",
                        "bench: 3 of 4 (turn 2 of 2, this build)",
                        "bench: 4 of 4 (turn 2 of 2, the build in " + folder + ")");
        List<String> calls = Files.readAllLines(folder.resolve("calls"));
        assertThat(calls).hasSize(3);
        assertThat(calls.get(0)).isEqualTo("--version");
        assertThat(calls.get(1)).startsWith("bench " + SMALL + " --seed=7 --json=");
        assertThat(calls.get(2)).startsWith("bench " + SMALL + " --seed=8 --json=");
    }

    @Test
    void aSlowerOperationIsAFailureOnRequest() throws Exception {
        otherBuild(WRITES.formatted(OLD_RESULTS.formatted("1e-6")));
        Ran ran = compare("--turns 1 --fail-above 10");

        assertThat(ran.code()).as(ran.err()).isEqualTo(ExitCodes.CHECK_FAILED);
        assertThat(ran.out().replaceAll("\\s+", " "))
                .contains("ratio above 1.100 in every turn", "Slower than the other build: 1 of 1 operations;");
    }

    @Test
    void aBuildThatCannotRunIsNamedWithItsLastLines() throws Exception {
        otherBuild("echo first; seq 30; echo no library >&2; exit 3");
        Ran ran = compare("");

        assertThat(ran.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err())
                .startsWith("ep: the build in " + folder + ": --version ended with exit code 3; its last lines:")
                .contains("\n30\n", "no library")
                .doesNotContain("first");
    }

    @Test
    void aBenchOfThisBuildThatFailsIsNamedWithItsLastLines() throws Exception {
        otherBuild(WRITES.formatted(OLD_RESULTS.formatted("1e12")));
        Ran ran = compare("--backend nothing-here");

        assertThat(ran.code()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.err())
                .contains("this build: bench in turn 1 of 6 ended with exit code 3; its last lines:", "nothing-here");
    }

    /** For which scripts have many reasons. */
    @Test
    void exitCode1OfABuildIsNotAResultOfTheComparison() throws Exception {
        otherBuild("exit 1");
        assertThat(compare("--fail-above 2").code()).isEqualTo(ExitCodes.RANK_FAILED);
    }

    @Test
    void aBenchWithoutResultsIsAFailure() throws Exception {
        otherBuild("echo something else");
        Ran ran = compare("--turns 1");

        assertThat(ran.code()).isEqualTo(ExitCodes.RANK_FAILED);
        assertThat(ran.err())
                .contains("the build in " + folder + ": bench in turn 1 of 1 wrote no JSON", "something else");
    }

    @Test
    void aFolderWithoutABuildIsRefused() {
        Ran ran = compare("");
        assertThat(ran.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).startsWith("ep: --compare is " + folder + ", must be a folder with the script ep");
        assertThat(Ran.ep("bench", "--compare", folder + "/missing").code()).isEqualTo(ExitCodes.USAGE);
    }

    @ParameterizedTest
    @CsvSource({
        "--compare /x --turns 0, '--turns is 0, must be in [1, 1000]'",
        "--compare /x --fail-above -1, '--fail-above is -1.0, must be in [0, 100]'",
        "--compare /x --fail-above NaN, '--fail-above is NaN'",
        "--compare /x --plot x.png, 'must be used without --plot'",
        "--compare /x --from x.json --plot-sms x.png, 'must be used without --plot-sms'",
        "--compare /x --topk 33, '--topk is 33'",
        "--turns 2, '--turns is 2, must be used with --compare'",
        "--fail-above 2, '--fail-above is 2.0, must be used with --compare'",
    })
    void whatCannotBeComparedIsRefused(String options, String answer) {
        Ran ran = Ran.ep(("bench " + options).split(" ", -1));
        assertThat(ran.code()).as(ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).contains(answer);
    }

    @Test
    void aLauncherIsRefused() {
        Map<String, String> torchrun =
                Map.of("RANK", "0", "WORLD_SIZE", "2", "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", "29500");
        assertThatThrownBy(() -> LaunchedRanks.refuse(torchrun, "--compare", "/x"))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContainingAll("--compare is /x", "no launcher (torchrun, mpirun, srun)");
        assertThatThrownBy(() -> LaunchedRanks.refuse(Map.of("SLURM_STEP_NUM_TASKS", "2"), "--compare", "/x"))
                .isInstanceOf(EpUnavailableException.class);
        LaunchedRanks.refuse(Map.of("SLURM_NTASKS", "2"), "--compare", "/x");
    }

    @Test
    void theCommandLooksForALauncherFirst() throws Exception {
        Path output = folder.resolve("output");
        ProcessBuilder builder =
                new ProcessBuilder(command()).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment()
                .putAll(Map.of("RANK", "0", "WORLD_SIZE", "2", "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", "29500"));
        Process process = builder.start();
        try {
            assertThat(process.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).as(Files.readString(output)).isEqualTo(ExitCodes.USAGE);
        assertThat(Files.readString(output)).contains("no launcher (torchrun, mpirun, srun)");
    }

    @Test
    void aBuildThatTakesTooLongIsStopped() throws Exception {
        otherBuild("echo $$ > $(dirname $0)/pid; sleep 100000");
        ProgressView progress = ProgressView.of("bench", new PrintWriter(new StringWriter()));
        try (BuildComparison builds = new BuildComparison(folder, Duration.ofSeconds(3))) {
            assertThatThrownBy(() -> builds.measure(List.of("bench"), 1, 1, progress))
                    .isInstanceOf(RankFailedException.class)
                    .hasMessageContaining("--version took more than 3 s and was stopped");
        }
        // Else it was stopped before its first command.
        if (Files.exists(folder.resolve("pid"))) {
            awaitGone();
        }
    }

    @Test
    void aSignalToTheCommandEndsTheBench() throws Exception {
        otherBuild("echo $$ > $(dirname $0)/pid; sleep 100000");
        Process command = new ProcessBuilder(command())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("output").toFile())
                .start();
        try {
            Path pid = folder.resolve("pid");
            Guard.until(
                    "the other build runs",
                    () -> Files.exists(pid) && pid.toFile().length() > 0);
            command.destroy();
            assertThat(command.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            awaitGone();
        } finally {
            command.destroyForcibly();
        }
    }

    private List<String> command() {
        return LocalRanks.javaCommand(
                List.of(), Main.class.getName(), List.of("bench", "--compare", folder.toString()));
    }

    private void awaitGone() throws IOException {
        long pid = Long.parseLong(Files.readString(folder.resolve("pid")).strip());
        Guard.until(
                "process " + pid + " has ended",
                () -> ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isEmpty());
    }
}
