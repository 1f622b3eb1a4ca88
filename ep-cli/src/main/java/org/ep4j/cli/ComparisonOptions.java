package org.ep4j.cli;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpArgumentException;
import org.ep4j.cli.report.ComparisonReport;
import org.ep4j.cli.report.ComparisonReport.Difference;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParseResult;

/** Options of bench for a comparison with another build. */
final class ComparisonOptions {
    private static final int TURNS = 6;
    private static final double PERCENT = 2;

    /** Options whose values are the comparison's and not those of a bench. */
    private static final Set<String> OWN = Set.of("--compare", "--turns", "--fail-above", "--seed", "--json");

    private static final List<String> OF_ONE_BUILD = List.of("--plot", "--plot-sweep", "--plot-sms", "--from");

    @Option(
            names = "--compare",
            paramLabel = "FOLDER",
            description = "Compare this build of ep4j with the one in FOLDER: a source checkout, or a folder with"
                    + " ep-cli-*.jar and its libraries (in the same folder or in lib). The two builds measure in turns"
                    + " (other, this, this, other, ...), each in processes of its own, with the other options of this"
                    + " command; --seed is the seed of the first turn, and increases by one with each turn. The ratio of"
                    + " an operation is the time of this build divided by the time of the other in the same turn: the"
                    + " operation is slower if its ratio is above 1.02 in every turn, faster if it is below 0.98 in"
                    + " every turn, the same if it is in between in every turn, and else unclear. --json writes the"
                    + " comparison. A bench that takes more than an hour is stopped. Not for use under torchrun,"
                    + " mpirun or srun.")
    Optional<Path> folder = Optional.empty();

    @Option(
            names = "--turns",
            paramLabel = "N",
            description =
                    "With --compare: number of measurements of each build; an even number lets each be first equally often."
                            + " Default: " + TURNS + ".")
    private Optional<Integer> turns = Optional.empty();

    @Option(
            names = "--fail-above",
            paramLabel = "PERCENT",
            description =
                    "With --compare: exit code 1 also if an operation is slower, not only if no operation was measured by both"
                            + " builds. PERCENT replaces the 2 percent by"
                            + " which the ratio must differ from 1 in every turn.")
    private Optional<Double> failAbove = Optional.empty();

    int turns() {
        return turns.orElse(TURNS);
    }

    /** Percent by which the times of an operation must differ in every turn. */
    double percent() {
        return failAbove.orElse(PERCENT);
    }

    /** Returns whether the builds have nothing in common, or an operation is slower where that is a failure. */
    boolean failed(ComparisonReport report) {
        return report.operations().isEmpty() || (failAbove.isPresent() && report.count(Difference.SLOWER) > 0);
    }

    /** Refuses what cannot be compared. */
    void check(ParseResult given) {
        if (folder.isEmpty()) {
            turns.ifPresent(value -> requireComparison("--turns", value));
            failAbove.ifPresent(value -> requireComparison("--fail-above", value));
            return;
        }
        ModelOptions.range("--turns", turns(), 1, 1000, "let each build measure at least once");
        if (!(percent() >= 0 && percent() <= 100)) {
            throw new EpArgumentException("--fail-above", percent(), "in [0, 100]", "give the percent, for example 2");
        }
        OF_ONE_BUILD.stream().filter(given::hasMatchedOption).findFirst().ifPresent(option -> {
            throw new EpArgumentException(
                    "--compare",
                    folder.get(),
                    "used without " + option + ", which draws the results of one build",
                    "leave one of the two out");
        });
    }

    private static void requireComparison(String option, Object value) {
        throw new EpArgumentException(
                option, value, "used with --compare", "add --compare with the folder of another build");
    }

    /** Returns the arguments of a bench of one build: those of this command without the comparison's own. */
    static List<String> ofOneBuild(List<String> arguments) {
        List<String> kept = new ArrayList<>();
        Iterator<String> all = arguments.iterator();
        while (all.hasNext()) {
            String argument = all.next();
            if (OWN.contains(argument)) {
                all.next();
            } else if (OWN.stream().noneMatch(own -> argument.startsWith(own + "="))) {
                kept.add(argument);
            }
        }
        return kept;
    }
}
