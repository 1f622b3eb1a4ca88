package org.ep4j.cli.report;

import static org.ep4j.cli.report.TextTable.column;
import static org.ep4j.cli.report.TextTable.number;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
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
 * @param trials what was measured for each setting
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
     * @param confirmation the best acceptable candidate, measured again in further turns; empty where none is acceptable
     * @param choice what buffers use instead of the default; empty if the default is best
     */
    public record Trial(
            String setting,
            String usual,
            List<TuneCandidate> candidates,
            Optional<TuneCandidate> confirmation,
            Optional<Choice> choice) {
        /**
         * Chooses the confirmed value if it is acceptable again and one of the operations that were faster is faster again.
         *
         * @param confirmation of the best candidate
         */
        public static Trial of(
                String setting, String usual, List<TuneCandidate> candidates, Optional<TuneCandidate> confirmation) {
            Optional<Choice> choice = confirmation
                    .filter(TuneCandidate::acceptable)
                    .flatMap(again -> {
                        Set<String> gained = TuneCandidate.best(candidates).stream()
                                .flatMap(best -> best.with(Result.GAIN).stream())
                                .map(Row::name)
                                .collect(Collectors.toSet());
                        String reason = again.with(Result.GAIN).stream()
                                .filter(row -> gained.contains(row.name()))
                                .limit(REASONS)
                                .map(row -> String.format(
                                        Locale.ROOT,
                                        "%s: %.1f -> %.1f us",
                                        row.name(),
                                        row.defaultMicros(),
                                        row.micros()))
                                .collect(Collectors.joining("; "));
                        return reason.isEmpty()
                                ? Optional.empty()
                                : Optional.of(new Choice(setting, again.value(), reason));
                    });
            return new Trial(setting, usual, List.copyOf(candidates), confirmation, choice);
        }
    }

    /**
     * Report of a search.
     *
     * @param environment of the first bench
     */
    public static TuneReport of(
            JsonNode environment,
            Fingerprint fingerprint,
            TunedSettings.Shape shape,
            int turns,
            long seed,
            List<Trial> trials) {
        return new TuneReport(
                FORMAT,
                environment,
                fingerprint,
                shape,
                turns,
                seed,
                List.copyOf(trials),
                trials.stream().flatMap(trial -> trial.choice().stream()).toList());
    }

    /** Returns the tables of each setting, with what they mean and what was chosen. */
    public String text() {
        StringBuilder text = new StringBuilder();
        for (Trial trial : trials) {
            text.append(trialText(trial));
            trial.confirmation().ifPresent(again -> text.append(confirmationText(trial, again)));
            text.append(System.lineSeparator());
        }
        text.append(Wrapped.of(
                "",
                "default us: time of an operation with the default value, in microseconds, median over " + turns
                        + " turns. A turn counts with the time that a bench shows in column us (host), slowest (GPUs) or"
                        + " period (chains). Columns of values: time with this value / time with the default in the same turn, median"
                        + " over turns. gain: below 0.990, and below 1 in every turn; loss: above 1.010, and above 1 in at"
                        + " least three quarters of the turns. A value is acceptable if no row is a loss and at least one is a"
                        + " gain; the one with the smallest geometric mean of all ratios is measured again."));
        return text.toString();
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
        Optional<String> again = trial.confirmation().map(TuneCandidate::value);
        for (TuneCandidate candidate : trial.candidates()) {
            text.append(Wrapped.line("  " + candidate.value() + " is " + candidate.verdict()
                    + (again.filter(candidate.value()::equals).isPresent() ? "; the best, measured again below" : "")));
        }
        if (again.isEmpty()) {
            text.append(Wrapped.line("  No value is acceptable: the default is best."));
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

    private String confirmationText(Trial trial, TuneCandidate again) {
        StringBuilder text = new StringBuilder();
        text.append(Wrapped.line(
                trial.setting() + "=" + again.value() + ", measured again in " + turns + " turns with other data"));
        text.append(TextTable.of(
                again.rows(),
                List.of(
                        column("operation", Row::name),
                        column("default us", row -> number("%.2f", row.defaultMicros())),
                        column("tuned us", row -> number("%.2f", row.micros())),
                        column("ratio", row -> number("%.3f", row.ratio())),
                        column("spread", row -> number("%.3f", row.minRatio()) + ".." + number("%.3f", row.maxRatio())),
                        column("result", row -> mark(row.result()).strip()))));
        text.append(Wrapped.line("  " + again.value() + " is " + again.verdict()));
        if (!again.acceptable()) {
            text.append(Wrapped.line("  The gain was not confirmed: the default is best."));
        } else if (trial.choice().isEmpty()) {
            text.append(
                    Wrapped.line("  None of the operations that were faster is faster again: the default is best."));
        }
        return text.toString();
    }
}
