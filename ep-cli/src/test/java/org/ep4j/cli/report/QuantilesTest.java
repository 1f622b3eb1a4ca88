package org.ep4j.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class QuantilesTest {
    @ParameterizedTest
    @CsvSource({
        "'', 50, NaN, NaN",
        "7, 0, 7, 7",
        "7, 99, 7, 7",
        "7, 100, 7, 7",
        "9 5, 0, 5, 5",
        "9 5, 50, 5, 7",
        "9 5, 51, 9, 7.04",
        "9 5, 100, 9, 9",
        "1 2 3 4, 25, 1, 1.75",
    })
    void givesTheNearestRankOrInterpolates(String values, double percent, double nearest, double between) {
        List<Long> numbers = values.isEmpty()
                ? List.of()
                : Arrays.stream(values.split(" ")).map(Long::valueOf).toList();
        assertThat((Double) Quantiles.nearestRank(numbers, percent)).isEqualTo((Double) nearest);
        assertThat((Double) Quantiles.of(numbers, percent / 100)).isEqualTo((Double) between);
    }

    @ParameterizedTest
    @CsvSource({"1000, 99.9, 999", "1000, 99, 990", "7, 57.142857142857146, 4"})
    void aShareThatEndsAtAValueGivesThatValue(int count, double percent, double nearest) {
        List<Long> numbers = LongStream.rangeClosed(1, count).boxed().collect(Collectors.toList());
        assertThat((Double) Quantiles.nearestRank(numbers, percent)).isEqualTo((Double) nearest);
    }
}
