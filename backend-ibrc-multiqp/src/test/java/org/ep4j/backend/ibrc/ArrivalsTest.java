package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import org.ep4j.spi.HostPosted;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class ArrivalsTest {
    private static final int FIRST = 0;
    private static final int SECOND = 5;

    private final long[] words = new long[HostPosted.COUNTERS];
    private int readings;

    /** While all words are read, the source advances the first counter behind the reader, then the second before it. */
    private long word(long offset) {
        int counter = (int) (offset / Long.BYTES);
        if (counter == SECOND && ++readings == 2) {
            words[FIRST] = 2;
            words[SECOND] = 2;
        }
        return words[counter];
    }

    private static long seen(Arrivals arrivals, int counter) {
        arrivals.showNew(counter);
        return arrivals.shown(counter);
    }

    @Test
    void aCounterIsNotShownBeforeOneThatWasAdvancedBeforeIt() {
        AtomicBoolean passed = new AtomicBoolean(true);
        Arrivals arrivals = new Arrivals(this::word, 0, Optional.empty(), passed::get);
        words[FIRST] = 1;
        words[SECOND] = 1;
        long second = seen(arrivals, SECOND);
        // A later write waits for its fence, which must not hide the first counter.
        passed.set(false);
        assertThat(seen(arrivals, FIRST)).isGreaterThanOrEqualTo(second);
        passed.set(true);
        assertThat(seen(arrivals, SECOND)).isEqualTo(2);
        assertThat(seen(arrivals, FIRST)).isEqualTo(2);
    }

    /**
     * A source advances random counters, any number of them between two looks of the reader. What has been shown of one counter
     * implies what was advanced before it, also when a later fence holds everything back.
     */
    @Property
    void theOrderOfTheSourceIsThatOfTheReader(@ForAll long seed, @ForAll boolean known) {
        SplittableRandom random = new SplittableRandom(seed);
        long[] at = new long[HostPosted.COUNTERS];
        long[] news = new long[2];
        List<long[]> history = new ArrayList<>();
        LongUnaryOperator source = offset -> {
            while (random.nextInt(known ? 4 : 20) == 0) {
                int counter = random.nextInt(4);
                // The bit of a word is set after the word, and may be seen as late as just before the next word
                // advances.
                news[0] |= news[1];
                news[1] = 1L << counter;
                at[counter]++;
                history.add(at.clone());
            }
            return at[(int) (offset / Long.BYTES)];
        };
        LongSupplier take = () -> {
            if (random.nextBoolean()) {
                news[0] |= news[1];
                news[1] = 0;
            }
            long taken = news[0];
            news[0] = 0;
            return taken;
        };
        AtomicBoolean passed = new AtomicBoolean(true);
        Arrivals arrivals = new Arrivals(source, 0, known ? Optional.of(take) : Optional.empty(), passed::get);
        for (int step = 0; step < 50; step++) {
            passed.set(true);
            int counter = random.nextInt(4);
            long value = seen(arrivals, counter);
            passed.set(false);
            long[] then = history.stream()
                    .filter(values -> values[counter] >= value)
                    .findFirst()
                    .orElse(new long[HostPosted.COUNTERS]);
            for (int other = 0; value > 0 && other < 4; other++) {
                assertThat(seen(arrivals, other)).isGreaterThanOrEqualTo(then[other]);
            }
        }
    }
}
