package org.ep4j.gpu.cuda;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.Device;

/**
 * Emulated GPUs: the build makes the emulator of {@code src/test/emulator} and names it to the test JVM by
 * {@code EP_CUDA_DRIVER} and {@code EP_NVRTC}.
 */
public final class EmulatedCuda {
    private EmulatedCuda() {}

    /** Skips the test when the emulator could not be built; with {@code EP_REQUIRE_EMULATOR=1} the test fails instead. */
    public static void require() {
        Optional<String> missing = missing();
        String reason = missing.orElse("");
        if (missing.isPresent()) {
            if (required()) {
                throw new AssertionError(reason);
            }
            System.out.println("skipped: " + reason);
        }
        assumeTrue(missing.isEmpty(), reason);
    }

    static boolean required() {
        return "1".equals(System.getenv("EP_REQUIRE_EMULATOR"));
    }

    /** Why there is no emulated GPU. */
    static Optional<String> missing() {
        String driver = System.getenv().getOrDefault(CudaDriver.VARIABLE, "");
        if (driver.isEmpty()) {
            return Optional.of(CudaDriver.VARIABLE + " is not set: run the tests by Maven");
        }
        return Files.exists(Path.of(driver))
                ? Optional.empty()
                : Optional.of("no emulated CUDA at " + driver + ": it is built by g++, which is missing or failed");
    }

    /** An emulated GPU. */
    public static CudaDevice open(int ordinal) {
        require();
        return (CudaDevice) new CudaDeviceProvider().open(Device.cuda(ordinal));
    }
}
