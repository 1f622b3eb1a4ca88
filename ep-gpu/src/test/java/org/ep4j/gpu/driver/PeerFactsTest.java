package org.ep4j.gpu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.ep4j.Device;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;

@Tag("verify")
final class PeerFactsTest {
    private static final PeerFacts FACTS = new PeerFacts("nvlink");
    private static final int GPUS = 120;

    /** Names of GPUs may begin or end like others, and stand in any order. */
    @Property(tries = 100)
    void aGpuIsFoundByItsWholeName(@ForAll long seed) {
        Random random = new Random(seed);
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < GPUS; i++) {
            if (random.nextInt(3) > 0) {
                numbers.add(i);
            }
        }
        Collections.shuffle(numbers, random);
        List<String> entries = new ArrayList<>();
        numbers.forEach(number -> entries.add((number % 7 == 0 ? -1 : 1000 + number) + "=#" + number));
        RankProfile rank = rank(String.join(",", entries));
        for (int i = 0; i < GPUS; i++) {
            Optional<Integer> expected =
                    numbers.contains(i) ? Optional.of(i % 7 == 0 ? -1 : 1000 + i) : Optional.empty();
            assertThat(FACTS.index(rank, "#" + i)).isEqualTo(expected);
        }
    }

    private static RankProfile rank(String gpus) {
        BackendProfile backend = BackendProfile.of(Map.of(PeerFacts.GPUS, gpus), Map.of());
        return RankProfile.builder(0, "h", Device.cuda(0))
                .pid(1)
                .backends(Map.of("nvlink", backend))
                .build();
    }
}
