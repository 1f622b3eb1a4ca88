package org.ep4j.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Ranges and frequencies of drawn values. */
@Tag("verify")
final class DrawTest {
    private static final int MANY = 20_000;

    private final Random random = new Random(1);

    @Test
    void numbersStayInTheirRangeHoweverLargeItIs() {
        long[][] ranges = {
            {Long.MIN_VALUE, Long.MAX_VALUE},
            {Long.MIN_VALUE, -5},
            {-5, Long.MAX_VALUE},
            {3, Long.MAX_VALUE},
            {Long.MIN_VALUE, Long.MIN_VALUE},
            {Long.MAX_VALUE, Long.MAX_VALUE},
            {-1, 1},
            {1000, 1010}
        };
        for (long[] range : ranges) {
            assertThat(longs(range[0], range[1]))
                    .allMatch(n -> n >= range[0] && n <= range[1])
                    .contains(range[0], range[1]);
        }
        assertThat(longs(1000, 1010).distinct()).hasSize(11);
    }

    @Test
    void smallNumbersLargeOnesAndExtremesAreAllFrequent() {
        assertThat(share(longs(Long.MIN_VALUE, Long.MAX_VALUE), n -> n > -1000 && n < 1000))
                .isBetween(0.05, 0.3);
        assertThat(share(longs(Long.MIN_VALUE, Long.MAX_VALUE), n -> n < Long.MIN_VALUE / 2))
                .isBetween(0.1, 0.3);
        assertThat(share(longs(Long.MIN_VALUE, Long.MAX_VALUE), n -> n == Long.MAX_VALUE))
                .isBetween(0.01, 0.03);
        assertThat(share(longs(0, 1L << 40), n -> n < 100)).isBetween(0.05, 0.3);
    }

    @Test
    void sizesAreRatherSmallButAlsoFull() {
        assertThat(share(Stream.generate(() -> Draw.size(random, 0, 100)), n -> n == 100))
                .isBetween(0.04, 0.07);
        assertThat(share(Stream.generate(() -> Draw.size(random, 0, 100)), n -> n <= 50))
                .isBetween(0.7, 0.9);
        assertThat(Draw.aList(random, 3, 3, r -> Draw.oneOf(r, "a"))).containsExactly("a", "a", "a");
    }

    @Test
    void stringsHaveAllKindsOfCharactersAndTheirLength() {
        Stream.Builder<String> texts = Stream.builder();
        for (int i = 0; i < MANY / 10; i++) {
            String text = Draw.aString(random, 1, 9);
            assertThat(text.length()).isBetween(1, 9);
            texts.add(text);
        }
        String all = texts.build().reduce("", String::concat);
        assertThat(all.codePoints().filter(Character::isISOControl).count()).isPositive();
        assertThat(all.codePoints().filter(Character::isSupplementaryCodePoint).count())
                .isPositive();
        assertThat(all.codePoints().filter(c -> c >= 0xd800 && c < 0xe000).count())
                .as("lone surrogates")
                .isPositive();
        assertThat(share(Stream.generate(() -> Draw.aString(random, 0, 20)), DrawTest::wellFormed))
                .isBetween(0.7, 1.0);
    }

    @Test
    void emptyRangesAreRefused() {
        assertThatThrownBy(() -> Draw.anInt(random, 2, 1)).hasMessage("no number is in [2, 1]");
        assertThatThrownBy(() -> Draw.size(random, -1, 1)).hasMessage("no size is in [-1, 1]");
        assertThatThrownBy(() -> Draw.aString(random, 2, 1)).hasMessage("no size is in [2, 1]");
    }

    private Stream<Long> longs(long min, long max) {
        return Stream.generate(() -> Draw.aLong(random, min, max)).limit(MANY);
    }

    private static boolean wellFormed(String text) {
        return text.codePoints().noneMatch(c -> c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE);
    }

    private static <T> double share(Stream<T> drawn, Predicate<T> kind) {
        return (double) drawn.limit(MANY).filter(kind).count() / MANY;
    }
}
