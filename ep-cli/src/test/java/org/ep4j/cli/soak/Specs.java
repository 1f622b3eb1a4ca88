package org.ep4j.cli.soak;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.ep4j.cli.soak.SoakSpec.Counters;

/** Runs for tests. */
final class Specs {
    private Specs() {}

    static SoakSpec of(List<Fault> faults, long seed, Counters counters) {
        return new SoakSpec(
                "host-shm",
                "host",
                4,
                true,
                faults,
                seed,
                0,
                Duration.ofMinutes(1),
                0,
                64,
                Duration.ofMillis(5),
                counters,
                Map.of(),
                Duration.ofSeconds(1),
                Duration.ofSeconds(5),
                Duration.ofSeconds(30),
                Path.of("."));
    }
}
