package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class SettledProofTest {
    private final Set<Integer> ended = ConcurrentHashMap.newKeySet();
    private final SettledProof proof = new SettledProof(ended::contains);

    @Test
    void kernelsOfAProcessThatHasEndedAreGivenAWhile() {
        assertThat(proof.isGone(1)).isFalse();
        ended.add(1);
        long start = System.nanoTime();
        assertThat(proof.isGone(1)).as("at once").isFalse();
        while (!proof.isGone(1)) {
            Thread.onSpinWait();
        }
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isBetween(Duration.ofMillis(200), Duration.ofSeconds(5));
        assertThat(proof.isGone(1)).isTrue();
        assertThat(proof.isGone(2)).isFalse();
    }
}
