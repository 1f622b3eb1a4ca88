package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.Stream;
import org.ep4j.cli.report.TuneCandidate.Result;
import org.ep4j.cli.report.TuneCandidate.Row;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The rule by which a value of a setting is better than the default. */
@Tag("verify")
final class TuneCandidateTest {
    private static final double USUAL = 100;

    private static JsonNode json(String text) {
        return JsonMapper.shared().readTree(text.replace('\'', '"'));
    }

    /** One bench on the host whose operations took so long; one without a time is not in it. */
    private static JsonNode bench(double... micros) {
        List<String> operations = new ArrayList<>();
        for (int row = 0; row < micros.length; row++) {
            if (!Double.isNaN(micros[row])) {
                operations.add(
                        String.format(Locale.ROOT, "{'operation': 'ht.op%d', 'medianMicros': %f}", row, micros[row]));
            }
        }
        return json("{'tokens': 64, 'operations': [" + String.join(", ", operations) + "]}");
    }

    /** A candidate with a row for each list, which has the ratio of each turn. */
    private static TuneCandidate candidate(String value, List<List<Double>> rows) {
        List<JsonNode> defaults = new ArrayList<>();
        List<JsonNode> others = new ArrayList<>();
        for (int turn = 0; turn < rows.get(0).size(); turn++) {
            int now = turn;
            defaults.add(bench(rows.stream().mapToDouble(row -> USUAL).toArray()));
            others.add(
                    bench(rows.stream().mapToDouble(row -> USUAL * row.get(now)).toArray()));
        }
        return TuneCandidate.of(value, defaults, others);
    }

    @ParameterizedTest
    @CsvSource({
        "0.90 0.95 0.98 0.97 0.90, GAIN",
        "0.98 0.98 0.98, GAIN",
        "0.90 0.95 1.00 0.97 0.90, NEITHER",
        "0.50 0.50 0.50 0.50 1.001, NEITHER",
        "0.995 0.995 0.995, NEITHER",
        "0.90 0.995 0.999, NEITHER",
        "1.02 1.03 1.02 1.04 1.02, LOSS",
        "1.02 1.03 1.02 1.04 0.90, LOSS",
        "1.02 1.03 1.02 0.90, LOSS",
        "1.02 1.03 1.02 0.90 0.90, NEITHER",
        "1.02 1.02 0.90, NEITHER",
        "1.005 1.005 1.005, NEITHER",
        "0.90 1.005 2.00, NEITHER",
        "1.00 1.00 1.00, NEITHER",
        "0.90 NaN 0.90, MISSING",
        "0.90 Infinity 0.90, MISSING",
        "0.90 0.00 0.90, MISSING",
    })
    void medianAndTurnsBothCount(String ratios, Result expected) {
        List<Double> turns =
                Stream.of(ratios.split(" ", -1)).map(Double::parseDouble).toList();
        assertThat(TuneCandidate.result(turns, turns.size())).isEqualTo(expected);
    }

    @Test
    void aTurnThatWasNotMeasuredIsMissing() {
        assertThat(TuneCandidate.result(List.of(0.9, 0.9), 3)).isEqualTo(Result.MISSING);
        assertThat(TuneCandidate.result(List.of(), 0)).isEqualTo(Result.MISSING);
    }

    @Property(tries = 500)
    void aGainIsInEveryTurnAndNoLossIsAGain(@ForAll long seed, @ForAll @IntRange(min = 3, max = 9) int turns) {
        Random random = new Random(seed);
        double middle = 0.97 + 0.06 * random.nextDouble();
        List<Double> ratios = new ArrayList<>();
        for (int turn = 0; turn < turns; turn++) {
            ratios.add(middle * (0.97 + 0.06 * random.nextDouble()));
        }
        Result result = TuneCandidate.result(ratios, turns);
        if (result == Result.GAIN) {
            assertThat(Collections.max(ratios)).isLessThan(1);
        }
        if (result == Result.LOSS) {
            assertThat(4 * ratios.stream().filter(ratio -> ratio > 1).count()).isGreaterThanOrEqualTo(3L * turns);
        }
        Collections.shuffle(ratios, random);
        assertThat(TuneCandidate.result(ratios, turns)).as("in another order").isEqualTo(result);
        ratios.replaceAll(ratio -> ratio * 2);
        assertThat(TuneCandidate.result(ratios, turns)).as("twice as slow").isEqualTo(Result.LOSS);
    }

    @Property(tries = 200)
    void oneRowThatLosesRefusesTheOthersGains(
            @ForAll long seed,
            @ForAll @IntRange(min = 2, max = 6) int rows,
            @ForAll @IntRange(min = 3, max = 7) int turns) {
        Random random = new Random(seed);
        List<List<Double>> ratios = new ArrayList<>();
        for (int row = 0; row < rows; row++) {
            ratios.add(new ArrayList<>(Collections.nCopies(turns, 0.5 + 0.4 * random.nextDouble())));
        }
        assertThat(candidate("good", ratios).acceptable()).isTrue();
        ratios.set(random.nextInt(rows), Collections.nCopies(turns, 1.011 + random.nextDouble()));
        TuneCandidate refused = candidate("bad", ratios);
        assertThat(refused.acceptable()).isFalse();
        assertThat(refused.verdict()).startsWith("refused: slower in 1 of " + rows + " rows");
        assertThat(TuneCandidate.best(List.of(refused))).isEmpty();
    }

    @Test
    void withoutAGainThereIsNothingToAccept() {
        TuneCandidate same = candidate("same", List.of(List.of(1.0, 0.995, 1.005), List.of(0.98, 0.98, 1.0)));
        assertThat(same.acceptable()).isFalse();
        assertThat(same.verdict()).isEqualTo("refused: no row is faster");
        assertThat(new TuneCandidate("nothing", List.of()).acceptable()).isFalse();
    }

    @Test
    void theSmallestGeometricMeanOfAllRowsIsTheBest() {
        TuneCandidate one = candidate("one", List.of(List.of(0.8, 0.8, 0.8), List.of(1.0, 1.0, 1.0)));
        TuneCandidate both = candidate("both", List.of(List.of(0.9, 0.9, 0.9), List.of(0.85, 0.85, 0.85)));
        TuneCandidate loser = candidate("loser", List.of(List.of(0.1, 0.1, 0.1), List.of(1.1, 1.1, 1.1)));
        assertThat(one.mean()).isCloseTo(Math.sqrt(0.8), within(1e-6));
        assertThat(TuneCandidate.best(List.of(one, both, loser))).contains(both);
        assertThat(TuneCandidate.best(List.of(loser, one))).contains(one);
        assertThat(both.verdict())
                .isEqualTo("acceptable: faster in 2 of 2 rows, none is slower; geometric mean of the ratios 0.875");
    }

    @Test
    void aRowThatIsMissingInATurnRefuses() {
        List<JsonNode> usual = List.of(bench(100, 100), bench(100, 100), bench(100, 100));
        TuneCandidate gone =
                TuneCandidate.of("gone", usual, List.of(bench(80, 80), bench(80, Double.NaN), bench(80, 80)));
        assertThat(gone.rows()).extracting(Row::result).containsExactly(Result.GAIN, Result.MISSING);
        assertThat(gone.rows().get(1).turnMicros()).containsExactly(80.0, 80.0);
        assertThat(gone.acceptable()).isFalse();
        assertThat(gone.verdict()).isEqualTo("refused: not measured in every turn: ht.op1, 64 tokens");

        TuneCandidate more = TuneCandidate.of("more", List.of(bench(100)), List.of(bench(80, 80)));
        assertThat(more.rows()).extracting(Row::result).containsExactly(Result.GAIN, Result.MISSING);
        assertThat(more.rows().get(1).ratio()).isNaN();
        assertThat(more.acceptable()).isFalse();
    }

    @Test
    void ratiosCompareTimesOfTheSameTurn() {
        TuneCandidate moved = TuneCandidate.of(
                "moved", List.of(bench(100), bench(200), bench(400)), List.of(bench(90), bench(180), bench(360)));
        Row row = moved.rows().get(0);
        assertThat(row.result()).isEqualTo(Result.GAIN);
        assertThat(row.ratio()).isCloseTo(0.9, within(1e-9));
        assertThat(row.defaultMicros()).isEqualTo(200);
        assertThat(row.micros()).isEqualTo(180);
    }

    /** Its buffers have no high throughput. */
    @Test
    void lowLatencyAloneLeavesOutTheHighThroughputWayOfItsTokens() {
        String operations = """
                {'tokens': %d, 'lowLatencyTokens': 128, 'operations': [
                  {'operation': 'll.dispatch', 'medianMicros': 1},
                  {'operation': 'll.tokens-by-ht.dispatch', 'medianMicros': 1}]}
                """;
        JsonNode alone = json(operations.formatted(0));
        assertThat(TuneCandidate.of("x", List.of(alone), List.of(alone)).rows())
                .extracting(Row::name)
                .containsExactly("ll.dispatch, 128 tokens");
        JsonNode both = json(operations.formatted(1024));
        assertThat(TuneCandidate.of("x", List.of(both), List.of(both)).rows())
                .extracting(Row::name)
                .containsExactly("ll.dispatch, 128 tokens", "ll.tokens-by-ht.dispatch, 128 tokens");
    }

    @Test
    void operationsHaveTheTokensOfTheirModeInTheirNames() {
        JsonNode host = json("""
                {'tokens': 1024, 'lowLatencyTokens': 128, 'operations': [
                  {'operation': 'ht.dispatch', 'medianMicros': 1}, {'operation': 'll.dispatch', 'medianMicros': 1}]}
                """);
        assertThat(TuneCandidate.of("x", List.of(host), List.of(host)).rows())
                .extracting(Row::name)
                .containsExactly("ht.dispatch, 1024 tokens", "ll.dispatch, 128 tokens");
        JsonNode gpu = json("""
                {'runs': [{'askedSms': 0,
                  'operations': [{'operation': 'ht.combine.bf16', 'tokens': 64, 'gpuSlowestMicros': 30}],
                  'chains': [{'operation': 'll.pair', 'tokens': 8, 'way': 'graph', 'periodMicros': 22}]}]}
                """);
        assertThat(TuneCandidate.of("x", List.of(gpu), List.of(gpu)).rows())
                .extracting(Row::name)
                .containsExactly("ht.combine.bf16, 64 tokens", "chain of ll.pair, 8 tokens, graph");
    }
}
