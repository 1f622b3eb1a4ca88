package org.ep4j.cli.report;

import static org.ep4j.cli.report.TextTable.column;
import static org.ep4j.cli.report.TextTable.number;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import tools.jackson.databind.JsonNode;

/**
 * Times of two builds that measured in turns, as they stand in the JSON; microseconds.
 *
 * @param format version of this file's form
 * @param folder of the other build
 * @param turns measurements of each build
 * @param percent by which the times of an operation must differ in every turn, so that one build is called faster
 * @param seed of the first turn; it increases by one with each turn
 * @param environment where and how this build measured first, from its JSON
 * @param otherEnvironment where and how the other build measured first, from its JSON
 * @param operations that both builds measured
 * @param onlyThis names of operations that only this build measured
 * @param onlyOther names of operations that only the other build measured
 */
public record ComparisonReport(
        int format,
        String folder,
        int turns,
        double percent,
        long seed,
        JsonNode environment,
        JsonNode otherEnvironment,
        List<Row> operations,
        List<String> onlyThis,
        List<String> onlyOther) {
    private static final int FORMAT = 1;

    /** How the times of two builds differ. */
    public enum Difference {
        SLOWER,
        FASTER,
        SAME,
        UNCLEAR
    }

    /**
     * Times of one operation.
     *
     * @param name of the operation, with tokens and multiprocessors on GPUs
     * @param thisMicros time of this build: median of the turns
     * @param otherMicros time of the other build: median of the turns
     * @param ratio time of this build divided by the time of the other in the same turn: median over turns
     * @param minRatio smallest ratio of a turn
     * @param maxRatio largest ratio of a turn
     * @param difference of this build to the other
     * @param thisTurnMicros times of this build in the turns in which both measured it
     * @param otherTurnMicros times of the other build in the same turns
     */
    public record Row(
            String name,
            double thisMicros,
            double otherMicros,
            double ratio,
            double minRatio,
            double maxRatio,
            Difference difference,
            List<Double> thisTurnMicros,
            List<Double> otherTurnMicros) {}

    /**
     * Compares what the benches of two builds wrote with {@code --json}, one for each turn.
     *
     * @param mine of this build
     * @param others of the other build, in the same turns
     */
    public static ComparisonReport of(
            String folder, double percent, long seed, List<JsonNode> mine, List<JsonNode> others) {
        List<Map<String, Double>> thisTimes = mine.stream().map(BenchTimes::of).toList();
        List<Map<String, Double>> otherTimes =
                others.stream().map(BenchTimes::of).toList();
        Set<String> onlyThis = names(thisTimes);
        Set<String> onlyOther = names(otherTimes);
        List<String> both = onlyThis.stream().filter(onlyOther::contains).toList();
        both.forEach(onlyThis::remove);
        both.forEach(onlyOther::remove);
        return new ComparisonReport(
                FORMAT,
                folder,
                mine.size(),
                percent,
                seed,
                mine.get(0).path("environment"),
                others.get(0).path("environment"),
                both.stream()
                        .map(name -> row(name, percent, thisTimes, otherTimes))
                        .toList(),
                List.copyOf(onlyThis),
                List.copyOf(onlyOther));
    }

    /** Returns the number of operations with this difference. */
    public long count(Difference difference) {
        return operations.stream().filter(o -> o.difference() == difference).count();
    }

    /** Returns the table with its legend and a summary in the last line. */
    public String text() {
        StringBuilder text = new StringBuilder();
        text.append(TextTable.of(
                operations,
                List.of(
                        column("operation", Row::name),
                        column("this us", o -> number("%.2f", o.thisMicros())),
                        column("other us", o -> number("%.2f", o.otherMicros())),
                        column("ratio", o -> number("%.3f", o.ratio())),
                        column("spread", o -> number("%.3f", o.minRatio()) + ".." + number("%.3f", o.maxRatio())),
                        column("result", o -> o.difference().name().toLowerCase(Locale.ROOT)))));
        text.append(System.lineSeparator());
        if (!onlyThis.isEmpty()) {
            text.append(Wrapped.line("Measured only by this build: " + String.join("; ", onlyThis)));
        }
        if (!onlyOther.isEmpty()) {
            text.append(Wrapped.line("Measured only by the other build: " + String.join("; ", onlyOther)));
        }
        if (!onlyThis.isEmpty() || !onlyOther.isEmpty()) {
            text.append(System.lineSeparator());
        }
        double share = percent / 100;
        text.append(Wrapped.of(
                "",
                String.format(
                        Locale.ROOT,
                        "this us, other us: time of an operation with this build and with the one in %s, in"
                                + " microseconds, median over %d turns. The time of a turn is that in column us (host),"
                                + " slowest (GPUs) or period (chains) of a bench. ratio: this / other in the same turn,"
                                + " median over turns; spread: smallest and largest ratio of a turn. slower: ratio"
                                + " above %.3f in every turn; faster: below %.3f in every turn; same: in between in"
                                + " every turn; unclear: none of these.",
                        folder,
                        turns,
                        1 + share,
                        1 - share)));
        text.append(String.format(
                Locale.ROOT,
                "Slower than the other build: %d of %d operations; faster: %d, same: %d, unclear: %d.%n",
                count(Difference.SLOWER),
                operations.size(),
                count(Difference.FASTER),
                count(Difference.SAME),
                count(Difference.UNCLEAR)));
        return text.toString();
    }

    private static Set<String> names(List<Map<String, Double>> turns) {
        Set<String> names = new LinkedHashSet<>();
        turns.forEach(times -> names.addAll(times.keySet()));
        return names;
    }

    private static Row row(
            String name, double percent, List<Map<String, Double>> thisTimes, List<Map<String, Double>> otherTimes) {
        List<Double> mine = new ArrayList<>();
        List<Double> others = new ArrayList<>();
        for (int turn = 0; turn < thisTimes.size(); turn++) {
            double time = thisTimes.get(turn).getOrDefault(name, Double.NaN);
            double other = otherTimes.get(turn).getOrDefault(name, Double.NaN);
            if (!Double.isNaN(time) && !Double.isNaN(other)) {
                mine.add(time);
                others.add(other);
            }
        }
        List<Double> ratios = IntStream.range(0, mine.size())
                .mapToObj(turn -> mine.get(turn) / others.get(turn))
                .toList();
        double min = Quantiles.of(ratios, 0);
        double max = Quantiles.of(ratios, 1);
        return new Row(
                name,
                Quantiles.of(mine, 0.5),
                Quantiles.of(others, 0.5),
                Quantiles.of(ratios, 0.5),
                min,
                max,
                ratios.size() < thisTimes.size() ? Difference.UNCLEAR : difference(min, max, percent / 100),
                mine,
                others);
    }

    private static Difference difference(double min, double max, double share) {
        if (min > 1 + share) {
            return Difference.SLOWER;
        }
        if (max < 1 - share) {
            return Difference.FASTER;
        }
        return min >= 1 - share && max <= 1 + share ? Difference.SAME : Difference.UNCLEAR;
    }
}
