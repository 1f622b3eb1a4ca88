package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.ep4j.cli.report.TuneCandidate.Result;
import org.ep4j.cli.report.TuneCandidate.Row;
import org.ep4j.cli.report.TuneReport.Confirmation;
import org.ep4j.cli.report.TuneReport.Trial;
import org.ep4j.plan.Fingerprint;
import org.ep4j.plan.TunedSettings.Choice;
import org.ep4j.plan.TunedSettings.Shape;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What is chosen and printed when the benches of a search have run. */
@Tag("verify")
final class TuneReportTest {
    private static final String SMS = "ep.gpu.sms";
    private static final String LOW_LATENCY_SMS = "ep.gpu.low-latency.sms";
    private static final String WIDEST = "chain of ll.dispatch-fp8+combine.partial, 128 tokens, queued";

    private static Row row(String name, double ratio, Result result) {
        double micros = 200 * ratio;
        return new Row(name, 200, micros, ratio, ratio - 0.01, ratio + 0.01, result, List.of(200.0), List.of(micros));
    }

    private static TuneCandidate candidate(String value, Row... rows) {
        return new TuneCandidate(value, List.of(rows));
    }

    /** The report of trials whose proposed values were measured again, so often. */
    private static TuneReport report(List<Trial> trials, TuneCandidate... times) {
        List<Confirmation> confirmations = new ArrayList<>();
        Set<String> settings = trials.stream()
                .filter(trial -> trial.proposed().isPresent())
                .map(Trial::setting)
                .collect(Collectors.toSet());
        for (TuneCandidate one : times) {
            confirmations.add(Confirmation.of(settings, trials, one));
            settings = confirmations.get(confirmations.size() - 1).values().keySet();
        }
        return TuneReport.of(
                JsonMapper.shared().readTree("{\"device\": \"cuda\"}"),
                new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of("ipc-nvlink")),
                new Shape(7168, 256, 8, 4096, 128),
                5,
                42,
                trials,
                confirmations);
    }

    private static String words(TuneReport report) {
        return report.text().replaceAll("\\s+", " ");
    }

    private static Trial highThroughput() {
        return Trial.of(
                SMS,
                "24",
                List.of(
                        candidate("16", row("ht.dispatch", 0.95, Result.GAIN), row("ht.combine", 1.4, Result.LOSS)),
                        candidate(
                                "32", row("ht.dispatch", 0.96, Result.GAIN), row("ht.combine", 1.0, Result.NEITHER))));
    }

    private static Trial lowLatency() {
        return Trial.of(LOW_LATENCY_SMS, "132", List.of(candidate("99", row("ll.combine", 0.98, Result.GAIN))));
    }

    @Test
    void confirmedValuesAreChosenWithTheirLargestGains() {
        List<Row> rows = new ArrayList<>();
        for (int i = 1; i <= 4; i++) {
            rows.add(row("ht.op" + i, 1 - i / 100.0, Result.GAIN));
        }
        Trial trial = Trial.of(SMS, "24", List.of(new TuneCandidate("32", rows)));
        TuneReport report = report(List.of(trial), new TuneCandidate(SMS + "=32", rows));
        assertThat(report.choices())
                .containsExactly(new Choice(
                        SMS, "32", "ht.op4: 200.0 -> 192.0 us; ht.op3: 200.0 -> 194.0 us; ht.op2: 200.0 -> 196.0 us"));
    }

    @Test
    void aSettingKeepsItsDefaultWhereItsOwnOperationsDoNotGainAgain() {
        TuneCandidate confirmation = candidate(
                "both",
                row("ht.dispatch", 0.97, Result.GAIN),
                row("ht.combine", 1.0, Result.NEITHER),
                row("ll.combine", 1.0, Result.NEITHER));
        List<Trial> trials = List.of(highThroughput(), lowLatency());
        TuneCandidate alone =
                candidate("alone", row("ht.dispatch", 0.95, Result.GAIN), row("ll.combine", 1, Result.NEITHER));
        TuneReport report = report(trials, confirmation, alone);
        assertThat(report.choices()).containsExactly(new Choice(SMS, "32", "ht.dispatch: 200.0 -> 190.0 us"));
        assertThat(report.confirmations())
                .extracting(Confirmation::complete)
                .as("the first has a setting that does not gain")
                .containsExactly(false, true);
        assertThat(words(report))
                .contains(LOW_LATENCY_SMS + " keeps its default: none of the operations that were faster")
                .doesNotContain(SMS + " keeps its default", "was not confirmed");

        assertThat(report(trials, confirmation).choices())
                .as("not measured without the other")
                .isEmpty();
        TuneReport refused = report(trials, confirmation, candidate("alone", row("ht.dispatch", 1.02, Result.LOSS)));
        assertThat(refused.choices()).isEmpty();
        assertThat(words(refused)).contains("The gain was not confirmed: the defaults are best.");
    }

    @Test
    void oneLossInTheConfirmationRefusesAll() {
        TuneCandidate confirmation =
                candidate("both", row("ht.dispatch", 0.97, Result.GAIN), row("ll.combine", 1.03, Result.LOSS));
        TuneReport report = report(List.of(highThroughput(), lowLatency()), confirmation);
        assertThat(report.choices()).isEmpty();
        assertThat(words(report))
                .contains(
                        "refused: slower in 1 of 2 rows, most in ll.combine (ratio 1.030)",
                        "The gain was not confirmed: the defaults are best.");
    }

    @Test
    void valuesThatAreRefusedAreExplained() {
        Trial refused =
                Trial.of(SMS, "24", List.of(candidate("16", row("a", 0.9, Result.GAIN), row("b", 1.2, Result.LOSS))));
        assertThat(refused.proposed()).isEmpty();
        TuneReport report = report(List.of(refused, Trial.of(LOW_LATENCY_SMS, "2", List.of())));
        assertThat(report.choices()).isEmpty();
        assertThat(words(report))
                .contains(
                        "16 is refused: slower in 1 of 2 rows, most in b (ratio 1.200)",
                        "there is no other value to try",
                        "No value of ep.gpu.sms or ep.gpu.low-latency.sms is acceptable: the defaults are best.");
    }

    @Test
    void eachSettingHasATableWithARatioForEachValue() {
        TuneReport report = report(List.of(highThroughput()), candidate("x", row("y", 0.9, Result.GAIN)));
        assertThat(report.text())
                .contains("ep.gpu.sms (default 24)")
                .containsPattern("operation +default us +16 +32")
                .containsPattern("ht\\.dispatch +200\\.00 +0\\.950 gain +0\\.960 gain")
                .containsPattern("ht\\.combine +200\\.00 +1\\.400 loss +1\\.000\\R")
                .containsPattern("y +200\\.00 +180\\.00 +0\\.900 +0\\.890\\.\\.0\\.910 +gain");
        assertThat(words(report)).contains("32 is acceptable: faster in 1 of 2 rows", "the best, measured again below");
    }

    @Test
    void theTablesOfManyValuesAreAtMost120ColumnsWide() {
        List<TuneCandidate> values = new ArrayList<>();
        for (String value : List.of("33", "66", "99")) {
            values.add(candidate(value, row(WIDEST, 0.912, Result.GAIN)));
        }
        TuneReport report = report(
                List.of(Trial.of(LOW_LATENCY_SMS, "132", values)), candidate("99", row(WIDEST, 0.912, Result.GAIN)));
        assertThat(report.text().lines())
                .anyMatch(line -> line.contains(WIDEST))
                .allMatch(line -> line.length() <= 120);
    }

    @Test
    void theJsonHasTrialsConfirmationsAndChoices() {
        TuneReport report = report(List.of(highThroughput()), candidate("x", row("ht.dispatch", 0.9, Result.GAIN)));
        JsonNode json = JsonMapper.shared().readTree(JsonMapper.shared().writeValueAsString(report));
        assertThat(json.path("fingerprint").path("model").asString()).isEqualTo("sm_90");
        assertThat(json.path("shape").path("maxTokens").asInt()).isEqualTo(4096);
        assertThat(json.path("environment").path("device").asString()).isEqualTo("cuda");
        assertThat(json.path("trials").get(0).path("proposed").asString()).isEqualTo("32");
        assertThat(json.path("trials").get(0).path("candidates")).hasSize(2);
        JsonNode confirmation = json.path("confirmations").get(0);
        assertThat(confirmation.path("settings").get(0).asString()).isEqualTo(SMS);
        assertThat(confirmation.path("times").path("rows").get(0).path("result").asString())
                .isEqualTo("GAIN");
        assertThat(confirmation.path("gained").get(0).path("value").asString()).isEqualTo("32");
        assertThat(json.path("choices").get(0).path("value").asString()).isEqualTo("32");
    }
}
