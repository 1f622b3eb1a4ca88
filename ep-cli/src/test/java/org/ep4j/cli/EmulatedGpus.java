package org.ep4j.cli;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;

/** Emulated GPUs: the build of ep-engine makes the emulator, and names it to the test JVM by {@code EP_CUDA_DRIVER}. */
public final class EmulatedGpus {
    private EmulatedGpus() {}

    /** Skips the test when the emulator could not be built; with {@code EP_REQUIRE_EMULATOR=1} the test fails instead. */
    public static void require() {
        String driver = System.getenv().getOrDefault("EP_CUDA_DRIVER", "");
        boolean there = !driver.isEmpty() && Files.exists(Path.of(driver));
        String reason = "no emulated CUDA at \"" + driver
                + "\" (EP_CUDA_DRIVER): it is built by g++ with the tests of ep-engine";
        if (!there && "1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
            throw new AssertionError(reason);
        }
        if (!there) {
            System.out.println("skipped: " + reason);
        }
        assumeTrue(there, reason);
    }
}
