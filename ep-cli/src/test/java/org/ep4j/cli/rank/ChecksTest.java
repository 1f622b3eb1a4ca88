package org.ep4j.cli.rank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.ep4j.cli.rank.RankMessage.Validated;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class ChecksTest {
    private final RankContext.Checks checks = new RankContext.Checks();

    @Test
    void elementsOfEveryRoundAreCounted() {
        checks.check("a", () -> 5);
        checks.check("b", () -> 7);
        checks.check("a", () -> 6);
        assertThat(checks.results()).containsExactly(new Validated("a", 11, ""), new Validated("b", 7, ""));
    }

    @Test
    void theFirstDifferenceStaysAlsoWhenLaterRoundsAreRight() {
        checks.check("a", () -> 5);
        checks.check("a", () -> {
            throw new AssertionError("first");
        });
        checks.check("a", () -> {
            throw new AssertionError("second");
        });
        checks.check("a", () -> 5);
        assertThat(checks.results()).containsExactly(new Validated("a", 10, "first"));
    }

    @Test
    void anotherFailureIsNotTakenForADifference() {
        assertThatThrownBy(() -> checks.check("a", () -> {
                    throw new IllegalStateException("x");
                }))
                .isInstanceOf(IllegalStateException.class);
    }
}
