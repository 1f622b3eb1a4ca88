package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.ep4j.cli.report.ComparisonReport.Difference;
import org.ep4j.cli.report.ComparisonReport.Row;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class ComparisonReportTest {
    private static JsonNode json(String text) {
        return JsonMapper.shared().readTree(text.replace('\'', '"'));
    }

    private static JsonNode host(String micros) {
        return json("{'operations': [{'operation': 'op', 'medianMicros': " + micros + "}]}");
    }

    private static ComparisonReport compared(List<JsonNode> mine, List<JsonNode> others) {
        return ComparisonReport.of("/other", 2, 1, mine, others);
    }

    @ParameterizedTest
    @CsvSource({
        "103 104 109, SLOWER",
        "101 104 109, UNCLEAR",
        "97 90 80, FASTER",
        "97 90 99, UNCLEAR",
        "99 101 100, SAME",
        "99 101 103, UNCLEAR",
        "90 100 110, UNCLEAR",
    })
    void allTurnsMustAgree(String percents, Difference expected) {
        List<JsonNode> mine = Stream.of(percents.split(" ", -1))
                .map(ComparisonReportTest::host)
                .toList();
        ComparisonReport report = compared(mine, List.of(host("100"), host("100"), host("100")));
        assertThat(report.operations()).extracting(Row::difference).containsExactly(expected);
        assertThat(report.count(expected)).isEqualTo(1);
    }

    @Test
    void ratiosAreThoseOfTheSameTurn() {
        ComparisonReport report = compared(
                List.of(host("100"), host("220"), host("400")), List.of(host("100"), host("200"), host("500")));
        Row row = report.operations().get(0);
        assertThat(row.thisMicros()).isEqualTo(220);
        assertThat(row.otherMicros()).isEqualTo(200);
        assertThat(List.of(row.minRatio(), row.ratio(), row.maxRatio())).containsExactly(0.8, 1.0, 1.1);
    }

    @Test
    void aTurnWithoutATimeMakesAnOperationUnclear() {
        ComparisonReport report = compared(List.of(host("100"), host("'NaN'")), List.of(host("100"), host("100")));
        Row row = report.operations().get(0);
        assertThat(row.difference()).isEqualTo(Difference.UNCLEAR);
        assertThat(row.thisTurnMicros()).containsExactly(100.0);
        assertThat(report.text()).containsPattern("op +100\\.00 +100\\.00 +1\\.000 +1\\.000\\.\\.1\\.000 +unclear");
    }

    @Test
    void operationsOnGpusAreToldApartByTokensAndMultiprocessors() {
        JsonNode mine = json("""
                {'format': 3, 'runs': [
                  {'askedSms': 8,
                   'operations': [
                    {'operation': 'll.dispatch.fp8', 'tokens': 8, 'gpuSlowestMicros': 20, 'other': {}},
                    {'operation': 'ht.dispatch.fp8', 'tokens': 64, 'gpuSlowestMicros': 30}],
                   'chains': [
                    {'operation': 'll.pair', 'tokens': 8, 'way': 'queued', 'periodMicros': 31},
                    {'operation': 'll.pair', 'tokens': 8, 'way': 'graph', 'periodMicros': 22}]},
                  {'askedSms': 16,
                   'operations': [{'operation': 'ht.dispatch.fp8', 'tokens': 64, 'gpuSlowestMicros': 25}]}]}
                """);
        JsonNode other = json("""
                {'format': 2, 'runs': [
                  {'askedSms': 8, 'operations': [
                    {'operation': 'll.dispatch.fp8', 'tokens': 8, 'gpuSlowestMicros': 20},
                    {'operation': 'll.dispatch.fp8', 'tokens': 16, 'gpuSlowestMicros': 20},
                    {'operation': 'ht.dispatch.fp8', 'tokens': 64, 'gpuSlowestMicros': 30}]},
                  {'askedSms': 16,
                   'operations': [{'operation': 'ht.dispatch.fp8', 'tokens': 64, 'gpuSlowestMicros': 25}]}]}
                """);
        ComparisonReport report = compared(List.of(mine), List.of(other));
        assertThat(report.operations())
                .extracting(Row::name)
                .containsExactly(
                        "ll.dispatch.fp8, 8 tokens",
                        "ht.dispatch.fp8, 64 tokens, 8 SMs",
                        "ht.dispatch.fp8, 64 tokens, 16 SMs");
        assertThat(report.operations()).allMatch(row -> row.ratio() == 1);
        assertThat(report.onlyThis())
                .containsExactly("chain of ll.pair, 8 tokens, queued", "chain of ll.pair, 8 tokens, graph");
        assertThat(report.onlyOther()).containsExactly("ll.dispatch.fp8, 16 tokens");
        assertThat(compared(List.of(mine), List.of(mine)).operations()).hasSize(5);
    }

    @Test
    void buildsThatShareNoOperationHaveNoTable() {
        ComparisonReport report = compared(List.of(host("1")), List.of(json("{'something': 'else'}")));
        assertThat(report.operations()).isEmpty();
        assertThat(report.text()).contains("Measured only by this build: op", "0 of 0 operations");
    }
}
