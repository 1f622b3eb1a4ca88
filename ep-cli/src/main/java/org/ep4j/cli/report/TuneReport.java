package org.ep4j.cli.report;

import static org.ep4j.cli.report.TextTable.column;
import static org.ep4j.cli.report.TextTable.number;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.cli.report.TextTable.Column;
import org.ep4j.cli.report.TuneCandidate.Result;
import org.ep4j.cli.report.TuneCandidate.Row;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.TunedSettings;
import org.ep4j.plan.TunedSettings.Choice;
import tools.jackson.databind.JsonNode;

/**
 * Result of a search for faster settings, as it stands in the JSON.
 *
 * @param format version of this file's form
 * @param environment where and how the first bench measured, from its JSON
 * @param fingerprint on which the result depends, apart from the shape
 * @param shape for which it was measured
 * @param turns measurements of each variant
 * @param seed of the first turn; it increases by one with each turn
 * @param trials the values that were tried for each setting
 * @param confirmations the proposed values of all settings together, in further turns, then the ones that are left, if others
 *     did not gain again; none where no value was proposed
 * @param choices settings that are faster than the defaults; none where the defaults are best
 */
public record TuneReport(
        int format,
        JsonNode environment,
        Fingerprint fingerprint,
        TunedSettings.Shape shape,
        int turns,
        long seed,
        List<Trial> trials,
        List<Confirmation> confirmations,
        List<Choice> choices) {
    private static final int FORMAT = 1;

    /** Most operations that a choice is explained with. */
    private static final int REASONS = 3;

    /**
     * Values that were tried for one setting.
     *
     * @param setting its name
     * @param usual the default
     * @param candidates other values
     * @param proposed the best of them; empty where none is better than the default
     */
    public record Trial(String setting, String usual, List<TuneCandidate> candidates, Optional<String> proposed) {
        /** Proposes the best candidate. */
        public static Trial of(String setting, String usual, List<TuneCandidate> candidates) {
            return new Trial(
                    setting, usual, candidates, TuneCandidate.best(candidates).map(TuneCandidate::value));
        }

        /** Returns whether an operation was faster with the proposed value. */
        private boolean gained(String operation) {
            return candidates.stream()
                    .filter(candidate ->
                            proposed.filter(candidate.value()::equals).isPresent())
                    .flatMap(candidate -> candidate.with(Result.GAIN).stream())
                    .anyMatch(row -> row.name().equals(operation));
        }
    }

    /**
     * Proposed values of several settings together, measured again.
     *
     * @param settings their names
     * @param times with these values, and with the defaults
     * @param gained values with which one of the operations that were faster is faster again; none if {@code times} are not
     *     acceptable
     */
    public record Confirmation(Set<String> settings, TuneCandidate times, List<Choice> gained) {
        /**
         * Finds the settings that gain again.
         *
         * @param settings that were measured
         * @param trials of these settings and of others
         */
        public static Confirmation of(Set<String> settings, List<Trial> trials, TuneCandidate times) {
            List<Choice> gained = new ArrayList<>();
            for (Trial trial : trials) {
                String reason = times.with(Result.GAIN).stream()
                        .filter(row -> trial.gained(row.name()))
                        .limit(REASONS)
                        .map(row -> String.format(
                                Locale.ROOT, "%s: %.1f -> %.1f us", row.name(), row.defaultMicros(), row.micros()))
                        .collect(Collectors.joining("; "));
                if (times.acceptable() && settings.contains(trial.setting()) && !reason.isEmpty()) {
                    trial.proposed().ifPresent(value -> gained.add(new Choice(trial.setting(), value, reason)));
                }
            }
            return new Confirmation(new TreeSet<>(settings), times, List.copyOf(gained));
        }

        /** Returns whether every setting gains again: what was measured can then be kept as it is. */
        public boolean complete() {
            return gained.size() == settings.size();
        }

        /** Returns the values that gain again, by name of the setting. */
        public Map<String, String> values() {
            Map<String, String> values = new LinkedHashMap<>();
            gained.forEach(choice -> values.put(choice.setting(), choice.value()));
            return values;
        }

        /** Returns the settings that do not gain again. */
        private List<String> left() {
            Set<String> again = values().keySet();
            return settings.stream().filter(setting -> !again.contains(setting)).toList();
        }
    }

    /**
     * Chooses the values of the last confirmation, if all of them gain again.
     *
     * @param environment of the first bench
     */
    public static TuneReport of(
            JsonNode environment,
            Fingerprint fingerprint,
            TunedSettings.Shape shape,
            int turns,
            long seed,
            List<Trial> trials,
            List<Confirmation> confirmations) {
        return new TuneReport(
                FORMAT,
                environment,
                fingerprint,
                shape,
                turns,
                seed,
                trials,
                List.copyOf(confirmations),
                confirmations.stream()
                        .reduce((first, last) -> last)
                        .filter(Confirmation::complete)
                        .map(Confirmation::gained)
                        .orElse(List.of()));
    }

    /** Returns a table for each setting and one for the confirmation, with what they mean and what was chosen. */
    public String text() {
        StringBuilder text = new StringBuilder();
        for (Trial trial : trials) {
            text.append(trialText(trial)).append(System.lineSeparator());
        }
        text.append(Wrapped.of(
                "",
                "default us: time of an operation with the default value, in microseconds, median over " + turns
                        + " turns. A turn counts with the time that a bench shows in column us (host), slowest (GPUs) or"
                        + " period (chains). Columns of values: time with this value / time with the default in the same turn, median"
                        + " over turns. gain: below 0.990, and below 1 in every turn; loss: above 1.010, and above 1 in at"
                        + " least three quarters of the turns. A value is acceptable if no row is a loss and at least one is a"
                        + " gain; the one with the smallest geometric mean of all ratios is measured again."));
        text.append(System.lineSeparator());
        if (confirmations.isEmpty()) {
            text.append(Wrapped.line("No value of " + settings() + " is acceptable: the defaults are best."));
        }
        confirmations.forEach(confirmation -> text.append(confirmationText(confirmation)));
        if (!confirmations.isEmpty() && choices.isEmpty()) {
            text.append(Wrapped.line("  The gain was not confirmed: the defaults are best."));
        }
        return text.toString();
    }

    private String settings() {
        return trials.stream().map(Trial::setting).collect(Collectors.joining(" or "));
    }

    private static String trialText(Trial trial) {
        StringBuilder text = new StringBuilder();
        text.append(Wrapped.line(trial.setting() + " (default " + trial.usual() + ")"));
        if (trial.candidates().isEmpty()) {
            return text + "  there is no other value to try" + System.lineSeparator();
        }
        List<Column<Row>> columns = new ArrayList<>();
        columns.add(column("operation", Row::name));
        columns.add(column("default us", row -> number("%.2f", row.defaultMicros())));
        for (TuneCandidate candidate : trial.candidates()) {
            columns.add(column(candidate.value(), row -> ratio(candidate, row.name())));
        }
        text.append(TextTable.of(trial.candidates().get(0).rows(), columns));
        for (TuneCandidate candidate : trial.candidates()) {
            boolean proposed =
                    trial.proposed().filter(candidate.value()::equals).isPresent();
            text.append(Wrapped.line("  " + candidate.value() + " is " + candidate.verdict()
                    + (proposed ? "; the best, measured again below" : "")));
        }
        return text.toString();
    }

    private static String ratio(TuneCandidate candidate, String operation) {
        return candidate.rows().stream()
                .filter(row -> row.name().equals(operation))
                .map(row -> number("%.3f", row.ratio()) + " " + mark(row.result()))
                .findFirst()
                .orElse("-");
    }

    /** Returns the result as a word of four letters, so that numbers stand one below the other. */
    private static String mark(Result result) {
        return switch (result) {
            case GAIN -> "gain";
            case LOSS -> "loss";
            case NEITHER -> "    ";
            case MISSING -> "miss";
        };
    }

    private String confirmationText(Confirmation confirmation) {
        TuneCandidate confirmed = confirmation.times();
        StringBuilder text = new StringBuilder();
        text.append(Wrapped.line(confirmed.value() + ", measured again in " + turns + " turns with other data"));
        text.append(TextTable.of(
                confirmed.rows(),
                List.of(
                        column("operation", Row::name),
                        column("default us", row -> number("%.2f", row.defaultMicros())),
                        column("tuned us", row -> number("%.2f", row.micros())),
                        column("ratio", row -> number("%.3f", row.ratio())),
                        column("spread", row -> number("%.3f", row.minRatio()) + ".." + number("%.3f", row.maxRatio())),
                        column("result", row -> mark(row.result()).strip()))));
        text.append(Wrapped.line("  This is " + confirmed.verdict()));
        if (!confirmation.gained().isEmpty()) {
            confirmation
                    .left()
                    .forEach(setting -> text.append(Wrapped.line("  " + setting
                            + " keeps its default: none of the operations that were faster with its other value is faster"
                            + " again; what is left is measured once more")));
        }
        return text.toString();
    }
}
