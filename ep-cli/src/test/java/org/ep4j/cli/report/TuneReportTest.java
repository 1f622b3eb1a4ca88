package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.cli.report.TuneCandidate.Result;
import org.ep4j.cli.report.TuneCandidate.Row;
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

    private static TuneReport report(Trial... trials) {
        return TuneReport.of(
                JsonMapper.shared().readTree("{\"device\": \"cuda\"}"),
                new Fingerprint("cuda", "sm_90", 132, 2, 1, 2, List.of("ipc-nvlink")),
                new Shape(7168, 256, 8, 4096, 128),
                5,
                42,
                List.of(trials));
    }

    private static String words(TuneReport report) {
        return report.text().replaceAll("\\s+", " ");
    }

    /** Trial in which 32 is the best acceptable value. */
    private static Trial highThroughput(Row... confirmation) {
        return Trial.of(
                SMS,
                "24",
                List.of(
                        candidate("16", row("ht.dispatch", 0.95, Result.GAIN), row("ht.combine", 1.4, Result.LOSS)),
                        candidate("32", row("ht.dispatch", 0.96, Result.GAIN), row("ht.combine", 1.0, Result.NEITHER))),
                Optional.of(candidate("32", confirmation)));
    }

    private static Trial lowLatency(Result result) {
        TuneCandidate times = candidate("99", row("ll.combine", 0.98, result));
        return Trial.of(
                LOW_LATENCY_SMS,
                "132",
                List.of(candidate("99", row("ll.combine", 0.98, Result.GAIN))),
                Optional.of(times));
    }

    @Test
    void confirmedValuesAreChosenWithTheirLargestGains() {
        List<Row> rows = new ArrayList<>();
        for (int i = 1; i <= 4; i++) {
            rows.add(row("ht.op" + i, 1 - i / 100.0, Result.GAIN));
        }
        TuneCandidate times = new TuneCandidate("32", rows);
        TuneReport report = report(Trial.of(SMS, "24", List.of(times), Optional.of(times)));
        assertThat(report.choices())
                .containsExactly(new Choice(
                        SMS, "32", "ht.op4: 200.0 -> 192.0 us; ht.op3: 200.0 -> 194.0 us; ht.op2: 200.0 -> 196.0 us"));
    }

    @Test
    void settingsAreChosenIndependently() {
        Trial confirmed = highThroughput(row("ht.dispatch", 0.95, Result.GAIN), row("ht.combine", 1.0, Result.NEITHER));
        Choice choice = new Choice(SMS, "32", "ht.dispatch: 200.0 -> 190.0 us");
        TuneReport one = report(confirmed, lowLatency(Result.NEITHER));
        assertThat(one.choices()).containsExactly(choice);
        assertThat(words(one))
                .contains("99 is refused: no row is faster The gain was not confirmed: the default is best.");
        TuneReport both = report(confirmed, lowLatency(Result.GAIN));
        assertThat(both.choices())
                .containsExactly(choice, new Choice(LOW_LATENCY_SMS, "99", "ll.combine: 200.0 -> 196.0 us"));
        assertThat(words(both)).doesNotContain("default is best");
    }

    @Test
    void gainsOfOtherOperationsInTheConfirmationKeepTheDefault() {
        TuneReport report =
                report(highThroughput(row("ht.dispatch", 1.0, Result.NEITHER), row("ht.combine", 0.97, Result.GAIN)));
        assertThat(report.choices()).isEmpty();
        assertThat(words(report))
                .contains("None of the operations that were faster is faster again: the default is best.")
                .doesNotContain("was not confirmed");
    }

    @Test
    void oneLossInTheConfirmationKeepsTheDefault() {
        TuneReport report =
                report(highThroughput(row("ht.dispatch", 0.97, Result.GAIN), row("ht.combine", 1.03, Result.LOSS)));
        assertThat(report.choices()).isEmpty();
        assertThat(words(report))
                .contains(
                        "32 is refused: slower in 1 of 2 rows, most in ht.combine (ratio 1.030)",
                        "The gain was not confirmed: the default is best.");
    }

    @Test
    void valuesThatAreRefusedAreExplained() {
        Trial refused = Trial.of(
                SMS,
                "24",
                List.of(candidate("16", row("a", 0.9, Result.GAIN), row("b", 1.2, Result.LOSS))),
                Optional.empty());
        TuneReport report = report(refused, Trial.of(LOW_LATENCY_SMS, "2", List.of(), Optional.empty()));
        assertThat(report.choices()).isEmpty();
        assertThat(words(report))
                .contains(
                        "16 is refused: slower in 1 of 2 rows, most in b (ratio 1.200)",
                        "No value is acceptable: the default is best.",
                        "there is no other value to try");
    }

    @Test
    void eachSettingHasATableWithARatioForEachValue() {
        TuneReport report = report(highThroughput(row("y", 0.9, Result.GAIN)));
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
        TuneReport report = report(Trial.of(LOW_LATENCY_SMS, "132", values, Optional.of(values.get(2))));
        assertThat(report.text().lines())
                .anyMatch(line -> line.contains(WIDEST))
                .allMatch(line -> line.length() <= 120);
    }

    @Test
    void theJsonHasTrialsAndChoices() {
        TuneReport report = report(highThroughput(row("ht.dispatch", 0.9, Result.GAIN)), lowLatency(Result.NEITHER));
        JsonNode json = JsonMapper.shared().readTree(JsonMapper.shared().writeValueAsString(report));
        assertThat(json.path("fingerprint").path("model").asString()).isEqualTo("sm_90");
        assertThat(json.path("shape").path("maxTokens").asInt()).isEqualTo(4096);
        assertThat(json.path("environment").path("device").asString()).isEqualTo("cuda");
        JsonNode trial = json.path("trials").get(0);
        assertThat(trial.path("candidates")).hasSize(2);
        assertThat(trial.path("confirmation").path("value").asString()).isEqualTo("32");
        assertThat(trial.path("confirmation").path("rows").get(0).path("result").asString())
                .isEqualTo("GAIN");
        assertThat(trial.path("choice").path("value").asString()).isEqualTo("32");
        assertThat(json.path("trials").get(1).path("choice").isNull()).isTrue();
        assertThat(json.path("choices").get(0).path("value").asString()).isEqualTo("32");
    }
}
