package org.ep4j.gpu.hip;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.ep4j.gpu.driver.KernelCache;
import org.ep4j.gpu.driver.KernelDialect;
import org.ep4j.gpu.hip.HipInstallation.HipVersion;

/**
 * Kernels as code objects of one architecture: from the cache, else from HIPRTC; in this process if HIPRTC is known to support the
 * architecture, else in a process of its own.
 */
record HipCompiler(HipInstallation installation, KernelCache cache, HipRtcProcess apart) {
    /** Among them: no fused operations that the sources do not ask for. */
    static final List<String> OPTIONS = List.of("-std=c++17", "-O3", "-ffp-contract=off");

    /** Macros of kernels that publish counters and flags by relaxed stores. */
    static final String RELAXED_STORES = "#define EP_RELAXED_STORES 1\n";

    /** Source of a minimal kernel. */
    private static final String TRIAL = "struct Op { int nothing; };\nEP_KERNEL(ep4j_trial, 64) {}\n";

    /** HIPRTC compiles one source at a time in a process. */
    private static final Object ONE_AT_A_TIME = new Object();

    /** @param deadline of a compilation in a process of its own */
    HipCompiler(HipInstallation installation, KernelCache cache, Duration deadline) {
        this(
                installation,
                cache,
                new HipRtcProcess(
                        installation.compiler(),
                        version(installation),
                        deadline,
                        JavaCommand.of(HipRtcProcess.class),
                        Map.of()));
    }

    private static String version(HipInstallation installation) {
        return installation.compilerVersion().map(HipVersion::toString).orElse("of unknown version");
    }

    /**
     * Compiles {@code source}, which lacks the dialect.
     *
     * @param macros that the dialect evaluates: lines of {@code #define}
     * @param gcnArchName {@code gfx942:sramecc+:xnack-}; code for the architecture alone runs with every setting of its
     *     features
     * @throws org.ep4j.EpException with the compiler's message; if the compiler does not support the architecture, with the remedy
     */
    byte[] compile(String name, String macros, String source, String gcnArchName) {
        String target = HipArchitecture.target(gcnArchName);
        Optional<HipVersion> known = installation.compilerVersion();
        String version = version(installation);
        String whole = KernelDialect.HIP.before(macros, source);
        List<String> parts = new ArrayList<>(OPTIONS);
        parts.add(target);
        parts.add("hiprtc " + version + " " + KernelCache.identity(installation.compiler()));
        parts.add(whole);
        return cache.get(
                parts,
                () -> HipArchitecture.isKnown(target, known)
                        ? here(name, whole, target, version)
                        : apart.compile(name, whole, target));
    }

    private byte[] here(String name, String whole, String target, String version) {
        synchronized (ONE_AT_A_TIME) {
            return new HipRtc(installation.compiler(), version).compile(name, whole, target, OPTIONS);
        }
    }

    /** Compiles a kernel that does nothing; throws as {@link #compile}. */
    void tryOut(String gcnArchName) {
        compile("a trial", "", TRIAL, gcnArchName);
    }
}
