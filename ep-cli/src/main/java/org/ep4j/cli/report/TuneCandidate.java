package org.ep4j.cli.report;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import tools.jackson.databind.JsonNode;

/**
 * Comparison of other values of settings with the defaults, by the times of benches in the same turns; microseconds.
 *
 * @param value what differs, for people: a value of the setting in question, or several settings with their values
 * @param rows every operation that a bench measured
 */
public record TuneCandidate(String value, List<Row> rows) {
    /** A median ratio that is nearer to 1 is neither a gain nor a loss. */
    private static final double SHARE = 0.01;

    /** Comparison of the times of an operation. */
    public enum Result {
        /** Less time in every turn, and by more than 1 percent in the median. */
        GAIN,
        /** More time in at least three quarters of the turns, and by more than 1 percent in the median. */
        LOSS,
        /** Neither of the two. */
        NEITHER,
        /** Not measured in every turn by both, which does not exclude a loss. */
        MISSING
    }

    /**
     * Times of one operation.
     *
     * @param name of the operation, with its tokens
     * @param defaultMicros time with the default values: median of the turns
     * @param micros time with the other values: median of the turns
     * @param ratio time with the other values divided by the time with the default values in the same turn: median over turns
     * @param minRatio smallest ratio of a turn
     * @param maxRatio largest ratio of a turn
     * @param result of the comparison
     * @param defaultTurnMicros times with the default values in the turns in which both were measured
     * @param turnMicros times with the other values in the same turns
     */
    public record Row(
            String name,
            double defaultMicros,
            double micros,
            double ratio,
            double minRatio,
            double maxRatio,
            Result result,
            List<Double> defaultTurnMicros,
            List<Double> turnMicros) {}

    /**
     * Compares what benches wrote with {@code --json}, one for each turn.
     *
     * @param defaults with the default values
     * @param others with the other values, in the same turns
     */
    public static TuneCandidate of(String value, List<JsonNode> defaults, List<JsonNode> others) {
        List<Map<String, Double>> before =
                defaults.stream().map(BenchTimes::withTokens).toList();
        List<Map<String, Double>> after =
                others.stream().map(BenchTimes::withTokens).toList();
        Set<String> names = new LinkedHashSet<>();
        before.forEach(times -> names.addAll(times.keySet()));
        after.forEach(times -> names.addAll(times.keySet()));
        return new TuneCandidate(
                value, names.stream().map(name -> row(name, before, after)).toList());
    }

    private static Row row(String name, List<Map<String, Double>> before, List<Map<String, Double>> after) {
        int turns = Math.max(before.size(), after.size());
        List<Double> defaults = new ArrayList<>();
        List<Double> others = new ArrayList<>();
        for (int turn = 0; turn < Math.min(before.size(), after.size()); turn++) {
            Optional<Double> time = Optional.ofNullable(before.get(turn).get(name));
            Optional<Double> other = Optional.ofNullable(after.get(turn).get(name));
            if (time.isPresent() && other.isPresent()) {
                defaults.add(time.get());
                others.add(other.get());
            }
        }
        List<Double> ratios = IntStream.range(0, defaults.size())
                .mapToObj(turn -> others.get(turn) / defaults.get(turn))
                .toList();
        return new Row(
                name,
                Quantiles.of(defaults, 0.5),
                Quantiles.of(others, 0.5),
                Quantiles.of(ratios, 0.5),
                Quantiles.of(ratios, 0),
                Quantiles.of(ratios, 1),
                result(ratios, turns),
                defaults,
                others);
    }

    /**
     * Compares by the ratio of each turn.
     *
     * @param turns in which the operation should have been measured
     */
    static Result result(List<Double> ratios, int turns) {
        if (ratios.isEmpty()
                || ratios.size() < turns
                || ratios.stream().anyMatch(ratio -> !Double.isFinite(ratio) || ratio <= 0)) {
            return Result.MISSING;
        }
        double median = Quantiles.of(ratios, 0.5);
        long above = ratios.stream().filter(ratio -> ratio > 1).count();
        if (median > 1 + SHARE && 4 * above >= 3L * ratios.size()) {
            return Result.LOSS;
        }
        return median < 1 - SHARE && ratios.stream().allMatch(ratio -> ratio < 1) ? Result.GAIN : Result.NEITHER;
    }

    /** Returns whether the other values are better: nothing loses or was left out, and something gains. */
    public boolean acceptable() {
        return !with(Result.GAIN).isEmpty()
                && with(Result.LOSS).isEmpty()
                && with(Result.MISSING).isEmpty();
    }

    /** Returns the geometric mean of the median ratios of all operations: the smaller, the faster. */
    public double mean() {
        return Math.exp(rows.stream()
                .mapToDouble(row -> Math.log(row.ratio()))
                .average()
                .orElse(0));
    }

    /** Returns the acceptable candidate with the smallest {@link #mean}; empty where none is acceptable. */
    public static Optional<TuneCandidate> best(List<TuneCandidate> candidates) {
        return candidates.stream()
                .filter(TuneCandidate::acceptable)
                .min(Comparator.comparingDouble(TuneCandidate::mean));
    }

    /** Returns the operations with a result, the ones with the smallest ratios first. */
    List<Row> with(Result result) {
        return rows.stream()
                .filter(row -> row.result() == result)
                .sorted(Comparator.comparingDouble(Row::ratio))
                .toList();
    }

    /** Returns why this is acceptable, or why it is not. */
    String verdict() {
        List<Row> missing = with(Result.MISSING);
        List<Row> losses = with(Result.LOSS);
        List<Row> gains = with(Result.GAIN);
        if (!missing.isEmpty()) {
            return "refused: not measured in every turn: " + missing.get(0).name();
        }
        if (!losses.isEmpty()) {
            Row worst = losses.get(losses.size() - 1);
            return String.format(
                    Locale.ROOT,
                    "refused: slower in %d of %d rows, most in %s (ratio %.3f)",
                    losses.size(),
                    rows.size(),
                    worst.name(),
                    worst.ratio());
        }
        return gains.isEmpty()
                ? "refused: no row is faster"
                : String.format(
                        Locale.ROOT,
                        "acceptable: faster in %d of %d rows, none is slower; geometric mean of the ratios %.3f",
                        gains.size(),
                        rows.size(),
                        mean());
    }
}
