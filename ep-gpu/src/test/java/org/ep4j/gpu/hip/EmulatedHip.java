package org.ep4j.gpu.hip;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.ep4j.Device;
import org.ep4j.gpu.cuda.EmulatedCuda;

/**
 * AMD GPUs that are none: the build makes the libraries of {@code src/test/hip-on-cuda}, which forward HIP to the emulator of
 * CUDA, and names them to the test JVM by {@code EP_HIP_RUNTIME}.
 */
public final class EmulatedHip {
    private EmulatedHip() {}

    /** Skips the test when they could not be built; with {@code EP_REQUIRE_EMULATOR=1} the test fails instead. */
    public static void require() {
        EmulatedCuda.require();
        Optional<String> missing = missing();
        String reason = missing.orElse("");
        if (missing.isPresent()) {
            if ("1".equals(System.getenv("EP_REQUIRE_EMULATOR"))) {
                throw new AssertionError(reason);
            }
            System.out.println("skipped: " + reason);
        }
        assumeTrue(missing.isEmpty(), reason);
    }

    private static Optional<String> missing() {
        String folder = System.getenv().getOrDefault(HipInstallation.VARIABLE, "");
        if (folder.isEmpty()) {
            return Optional.of(HipInstallation.VARIABLE + " is not set: run the tests by Maven");
        }
        return Files.exists(Path.of(folder, "libhiprtc.so.7"))
                ? Optional.empty()
                : Optional.of("no HIP on CUDA in " + folder + ": it is built by g++, which is missing or failed");
    }

    /** An emulated GPU. */
    public static HipDevice open(int ordinal) {
        require();
        return (HipDevice) new HipDeviceProvider().open(Device.hip(ordinal));
    }
}
