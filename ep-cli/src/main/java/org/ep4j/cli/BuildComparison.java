package org.ep4j.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpArgumentException;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.ExitCodes.RankFailedException;
import org.ep4j.cli.report.ComparisonReport;
import org.ep4j.cli.report.ProgressView;
import picocli.CommandLine.Model.CommandSpec;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Benches of this build and of another one in turns, each in a process of its own, which is ended where it takes too long or
 * this process ends, unless it is killed: a bench does not see that.
 */
final class BuildComparison implements AutoCloseable {
    private static final Duration DEADLINE = Duration.ofHours(1);

    /** Longer than a bench gives its own ranks to end. */
    private static final Duration GRACE = Duration.ofSeconds(10);

    private static final int LAST_LINES = 20;

    private final Build mine = new Build(
            "this build", LocalRanks.javaCommand(List.of(), Main.class.getName(), List.of()), new ArrayList<>());
    private final Build other;
    private final Duration deadline;
    private final Path scratch;
    private final Path json;
    private final Path log;

    /**
     * One of the two builds.
     *
     * @param name for messages
     * @param command what runs it, before the arguments
     * @param reports what its benches wrote with {@code --json}, one for each turn
     */
    private record Build(String name, List<String> command, List<JsonNode> reports) {}

    /**
     * Compares this build with another one, by benches with the options of the command that is not its own.
     *
     * @param seed of the first turn
     * @throws EpArgumentException when there is no build in the folder
     * @throws RankFailedException when a bench failed, with its last lines
     */
    static ComparisonReport run(CommandSpec command, ComparisonOptions options, Path folder, long seed) {
        List<String> arguments = ComparisonOptions.ofOneBuild(
                command.root().commandLine().getParseResult().expandedArgs());
        int turns = options.turns();
        try (BuildComparison builds = new BuildComparison(folder, DEADLINE);
                ProgressView progress =
                        ProgressView.of(command.name(), command.commandLine().getErr())) {
            builds.measure(arguments, turns, seed, progress);
            return ComparisonReport.of(
                    folder.toString(), options.percent(), seed, builds.mine.reports(), builds.other.reports());
        }
    }

    /**
     * Finds the other build.
     *
     * @param deadline of each process
     */
    BuildComparison(Path folder, Duration deadline) {
        other = new Build("the build in " + folder, command(folder.toAbsolutePath()), new ArrayList<>());
        this.deadline = deadline;
        try {
            scratch = Files.createTempDirectory("ep-compare-");
        } catch (IOException e) {
            throw new EpUnavailableException("cannot create a folder for temporary files: " + e, e);
        }
        json = scratch.resolve("bench.json");
        log = scratch.resolve("output");
    }

    private static List<String> command(Path folder) {
        Path script = folder.resolve("ep");
        if (Files.isRegularFile(script)) {
            return List.of(script.toString());
        }
        String[] jars = folder.toFile().list((where, name) -> name.matches("ep-cli-.*\\.jar"));
        if (jars == null || jars.length == 0) {
            throw new EpArgumentException(
                    "--compare",
                    folder,
                    "a folder with the script ep of a source checkout, or with ep-cli-*.jar",
                    "name the folder of another build of ep4j");
        }
        return LocalRanks.javaCommand(List.of(), folder + "/*:" + folder + "/lib/*", Main.class.getName(), List.of());
    }

    /**
     * Runs the benches; the build that measures first in one turn measures second in the next.
     *
     * @param arguments of a bench, without {@code --seed} and {@code --json}
     * @param seed of the first turn
     */
    void measure(List<String> arguments, int turns, long seed, ProgressView progress) {
        // A checkout builds what is new, now and not within a turn.
        run(other, List.of("--version"), "--version");
        for (int turn = 0; turn < turns; turn++) {
            String place = "turn " + (turn + 1) + " of " + turns;
            for (Build build : turn % 2 == 0 ? List.of(other, mine) : List.of(mine, other)) {
                List<String> bench = new ArrayList<>(arguments);
                bench.addAll(List.of("--seed=" + (seed + turn), "--json=" + json));
                run(build, bench, "bench in " + place);
                build.reports().add(report(build, place));
                progress.step(mine.reports().size() + other.reports().size(), 2 * turns, place + ", " + build.name());
            }
        }
    }

    private JsonNode report(Build build, String place) {
        try {
            JsonNode report = JsonMapper.shared().readTree(json.toFile());
            RankJob.remove(json);
            return report;
        } catch (JacksonException e) {
            throw failure(
                    build,
                    "bench in " + place + " wrote no JSON (" + e.getOriginalMessage() + ")",
                    ExitCodes.RANK_FAILED);
        }
    }

    private void run(Build build, List<String> arguments, String what) {
        List<String> command = new ArrayList<>(build.command());
        command.addAll(arguments);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        // For the script ep: the options of the JVMs that are started here.
        builder.environment().put("EP_JAVA_OPTS", String.join(" ", LocalRanks.inheritedOptions()));
        try {
            Process process = builder.start();
            if (!endsInTime(process)) {
                throw failure(
                        build,
                        what + " took more than " + deadline.toSeconds() + " s and was stopped",
                        ExitCodes.RANK_FAILED);
            }
            int code = process.exitValue();
            if (code != ExitCodes.OK) {
                throw failure(
                        build,
                        what + " ended with exit code " + code,
                        // 1 is for what the comparison finds, and what scripts end with for any reason.
                        code > ExitCodes.CHECK_FAILED && code <= ExitCodes.INTERNAL ? code : ExitCodes.RANK_FAILED);
            }
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "cannot start " + build.name() + ": " + e.getMessage()
                            + "; check that the program exists and may be executed",
                    e);
        }
    }

    private boolean endsInTime(Process process) {
        Thread hook = new Thread(
                () -> {
                    LocalRanks.end(List.of(process), GRACE);
                    close();
                },
                "ep-bench-end");
        try {
            Runtime.getRuntime().addShutdownHook(hook);
            return process.waitFor(deadline.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpException("interrupted while waiting for a bench", e);
        } finally {
            if (process.isAlive()) {
                LocalRanks.end(List.of(process), GRACE);
            }
            LocalRanks.removeHook(hook);
        }
    }

    private RankFailedException failure(Build build, String what, int exitCode) {
        String output;
        try {
            List<String> lines =
                    new String(Files.readAllBytes(log), UTF_8).lines().toList();
            output = "its last lines:\n"
                    + String.join("\n", lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size()));
        } catch (IOException e) {
            output = "its output cannot be read: " + e;
        }
        return new RankFailedException(build.name() + ": " + what + "; " + output, exitCode);
    }

    /** Removes temporary files. */
    @Override
    public void close() {
        List.of(json, log, scratch).forEach(RankJob::remove);
    }
}
