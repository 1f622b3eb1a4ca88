package org.ep4j.gpu.hip;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.gpu.hip.HipInstallation.HipVersion;

/**
 * Architectures that ep4j supports, with the first HIPRTC that supports each. HIPRTC ends the process if it does not know an architecture,
 * so this process never asks it for another one.
 */
enum HipArchitecture {
    /** MI210, MI250, MI250X. */
    GFX90A(5, 7),
    /** MI300A, MI300X, MI308X, MI325X. HIPRTC 5.2 ends the process, 5.7 supports it. */
    GFX942(5, 7),
    /** MI350X, MI355X. HIPRTC 5.7 ends the process; ROCm 7.0 is the first that AMD supports them with. */
    GFX950(7, 0);

    private final int major;
    private final int minor;

    HipArchitecture(int major, int minor) {
        this.major = major;
        this.minor = minor;
    }

    /** Name for compilers: {@code gfx942}. */
    String target() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** First HIPRTC that supports it. */
    HipVersion since() {
        return new HipVersion(major, minor);
    }

    /** Removes the features from a name: {@code gfx942} from {@code gfx942:sramecc+:xnack-}. */
    static String target(String gcnArchName) {
        return gcnArchName.split(":", -1)[0];
    }

    /** Finds an architecture by its name with or without features; empty for one that ep4j does not support. */
    static Optional<HipArchitecture> of(String gcnArchName) {
        String target = target(gcnArchName);
        return Arrays.stream(values())
                .filter(one -> one.target().equals(target))
                .findFirst();
    }

    /** Returns whether a HIPRTC is known to support it, and so may compile for it in this process. */
    static boolean isKnown(String gcnArchName, Optional<HipVersion> compiler) {
        return of(gcnArchName)
                .flatMap(found -> compiler.filter(version -> version.isAtLeast(found.since())))
                .isPresent();
    }

    /** Remedy if a HIPRTC does not support it. */
    static String remedy(String gcnArchName) {
        String release = of(gcnArchName)
                .map(found -> "ROCm " + found.since() + " or newer")
                .orElse("the first ROCm release that supports " + target(gcnArchName) + ", or a newer one");
        return "install " + release + ", or set " + HipInstallation.VARIABLE + " to its lib folder";
    }

    static String served() {
        return Arrays.stream(values()).map(HipArchitecture::target).collect(Collectors.joining(", "));
    }
}
