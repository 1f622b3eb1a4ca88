package org.ep4j.gpu.hip;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Architectures that ep4j is made for, with the first HIPRTC that knows each. A HIPRTC that does not know an architecture ends the
 * process instead of failing, and so does one whose number is wrong: nothing else is asked of it in this process.
 */
enum HipArchitecture {
    /** MI210, MI250, MI250X. */
    GFX90A(5, 7),
    /** MI300A, MI300X, MI308X, MI325X. HIPRTC 5.2 ends the process, 5.7 knows it. */
    GFX942(5, 7),
    /** MI350X, MI355X. HIPRTC 5.7 ends the process; ROCm 7.0 is the first that AMD supports them with. */
    GFX950(7, 0);

    private final int major;
    private final int minor;

    HipArchitecture(int major, int minor) {
        this.major = major;
        this.minor = minor;
    }

    /** As compilers name it: {@code gfx942}. */
    String target() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** First HIPRTC that knows it. */
    HipVersion since() {
        return new HipVersion(major, minor);
    }

    /** {@code gfx942} of {@code gfx942:sramecc+:xnack-}. */
    static String target(String gcnArchName) {
        return gcnArchName.split(":", -1)[0];
    }

    /** Of a name with or without features; empty for one that ep4j is not made for. */
    static Optional<HipArchitecture> of(String gcnArchName) {
        String target = target(gcnArchName);
        return Arrays.stream(values())
                .filter(one -> one.target().equals(target))
                .findFirst();
    }

    /** True where a HIPRTC is known to know it, and may be asked in this process. */
    static boolean isKnown(String gcnArchName, Optional<HipVersion> compiler) {
        return of(gcnArchName)
                .flatMap(found -> compiler.filter(version -> version.isAtLeast(found.since())))
                .isPresent();
    }

    /** What to do where a HIPRTC does not know it. */
    static String remedy(String gcnArchName) {
        String release = of(gcnArchName)
                .map(found -> "ROCm " + found.since() + " or newer")
                .orElse("the first ROCm release that supports " + target(gcnArchName) + ", or a newer one");
        return "install " + release + ", or set " + HipInstallation.VARIABLE + " to its lib folder";
    }

    /** All of them, for messages. */
    static String served() {
        return Arrays.stream(values()).map(HipArchitecture::target).collect(Collectors.joining(", "));
    }
}
