package org.ep4j.engine.hip;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.EpUnavailableException;

/**
 * Architectures that kernels are compiled for, with the first HIPRTC that knows each. A HIPRTC that does not know an
 * architecture ends the process instead of failing, and so does one whose number is wrong: nothing else is ever asked of it.
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

    /** Of a name with features: {@code gfx942:sramecc+:xnack-}. */
    static Optional<HipArchitecture> of(String gcnArchName) {
        String target = gcnArchName.split(":", -1)[0];
        return Arrays.stream(values())
                .filter(one -> one.target().equals(target))
                .findFirst();
    }

    /**
     * The architecture, if a HIPRTC may be asked for it.
     *
     * @throws EpUnavailableException when not, with the remedy
     */
    static HipArchitecture require(String gcnArchName, HipVersion compiler) {
        HipArchitecture found = of(gcnArchName)
                .orElseThrow(() -> new EpUnavailableException("kernels are compiled for " + served()
                        + ", and this GPU is " + gcnArchName + "; use one of these GPUs, or ep.device host"));
        if (!compiler.isAtLeast(found.since())) {
            throw new EpUnavailableException("HIPRTC " + compiler + " does not know " + found.target()
                    + " and would end the process; install ROCm " + found.since() + " or newer");
        }
        return found;
    }

    /** All of them, for messages. */
    static String served() {
        return Arrays.stream(values()).map(HipArchitecture::target).collect(Collectors.joining(", "));
    }
}
