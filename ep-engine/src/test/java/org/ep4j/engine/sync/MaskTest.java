package org.ep4j.engine.sync;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class MaskTest {
    @Test
    void differentSetsOfRanksHaveDifferentDigests() {
        Map<Long, Set<Integer>> byDigest = new HashMap<>();
        for (int bits = 0; bits < 1 << 10; bits++) {
            int chosen = bits;
            Set<Integer> ranks = IntStream.range(0, 10)
                    .filter(r -> (chosen >> r & 1) != 0)
                    .boxed()
                    .collect(Collectors.toSet());
            assertThat(byDigest.put(Mask.of(ranks).digest(), ranks))
                    .as("another set with the digest of %s", ranks)
                    .isNull();
        }
    }
}
