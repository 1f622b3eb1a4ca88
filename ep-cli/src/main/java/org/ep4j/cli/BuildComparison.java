package org.ep4j.cli;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.ep4j.EpArgumentException;
import org.ep4j.cli.BenchTurns.Variant;
import org.ep4j.cli.ExitCodes.RankFailedException;
import org.ep4j.cli.report.ComparisonReport;
import org.ep4j.cli.report.ProgressView;
import picocli.CommandLine.Model.CommandSpec;

/** Benches of this build and of another one in turns. */
final class BuildComparison implements AutoCloseable {
    private final Variant mine =
            Variant.of("this build", LocalRanks.javaCommand(List.of(), Main.class.getName(), List.of()));
    private final Variant other;
    private final BenchTurns benches;

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
        try (BuildComparison builds = new BuildComparison(folder, BenchTurns.DEADLINE);
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
        other = Variant.of("the build in " + folder, command(folder.toAbsolutePath()));
        benches = new BenchTurns(deadline);
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
        benches.run(other, List.of("--version"), "--version");
        benches.measure(
                List.of(other, mine),
                arguments,
                turns,
                seed,
                what -> progress.step(mine.reports().size() + other.reports().size(), 2 * turns, what));
    }

    /** Removes temporary files. */
    @Override
    public void close() {
        benches.close();
    }
}
