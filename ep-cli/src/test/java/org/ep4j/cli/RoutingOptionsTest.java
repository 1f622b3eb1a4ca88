package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("verify")
final class RoutingOptionsTest {
    @ParameterizedTest
    @CsvSource({
        "--skew 11, '--skew is 11.0, must be in [0, 10]'",
        "--expert-groups 7, '--expert-groups is 7, must be at least 1, and a divisor of the number of experts, 256'",
        "--expert-groups=-8 --groups-per-token 4, '--expert-groups is -8, must be at least 1'",
        "--groups-per-token 4, '--expert-groups is 0, must be at least 1'",
        "--expert-groups 8, '--groups-per-token is 0, must be in [1, 8]'",
        "--expert-groups 8 --groups-per-token 9, '--groups-per-token is 9, must be in [1, 8]'",
        "--expert-groups 64 --groups-per-token 1, '--groups-per-token is 1, must be in [2, 64]; a token has 8 experts'",
        "--expert-groups 8 --groups-per-token 4 --skew 1, '--skew is 1.0, must be 0 with --expert-groups'",
    })
    void wrongValuesAreRefusedBeforeAnyRankStarts(String line, String why) {
        List<String> arguments = new ArrayList<>(List.of("bench", "--experts", "256", "--topk", "8"));
        arguments.addAll(List.of(line.split(" ", -1)));
        Ran ran = Ran.ep(arguments.toArray(String[]::new));
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err().replaceAll("\\s+", " ")).contains(why);
    }
}
