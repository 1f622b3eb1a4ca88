package org.ep4j.gpu.hip;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.gpu.driver.KernelCache;
import org.ep4j.gpu.driver.KernelDialect;

/**
 * Kernels as code objects of one architecture: from the cache, else from HIPRTC; in this process where that is known to know the
 * architecture, in a process of its own where it is not.
 */
final class HipCompiler {
    /** The standard that the sources are written in; and no fused operations that the sources do not ask for. */
    static final List<String> OPTIONS = List.of("-std=c++17", "-O3", "-ffp-contract=off");

    /** Counters and flags are published by relaxed stores. */
    static final String RELAXED_STORES = "#define EP_RELAXED_STORES 1\n";

    /** The least that is a kernel. */
    private static final String TRIAL = "struct Op { int nothing; };\nEP_KERNEL(ep4j_trial, 64) {}\n";

    /** One compilation at a time in a process: ranks that are threads ask for the same code at the same moment. */
    private static final Object ONE_AT_A_TIME = new Object();

    private final HipInstallation installation;
    private final KernelCache cache;
    private final HipRtcProcess apart;

    HipCompiler(HipInstallation installation, KernelCache cache) {
        this(installation, cache, HipRtcProcess.DEADLINE);
    }

    /** @param deadline of a compilation in a process of its own */
    HipCompiler(HipInstallation installation, KernelCache cache, Duration deadline) {
        this(installation, cache, new HipRtcProcess(installation.compiler(), version(installation), deadline));
    }

    HipCompiler(HipInstallation installation, KernelCache cache, HipRtcProcess apart) {
        this.installation = installation;
        this.cache = cache;
        this.apart = apart;
    }

    private static String version(HipInstallation installation) {
        return installation.compilerVersion().map(HipVersion::toString).orElse("of unknown version");
    }

    /**
     * Compiles.
     *
     * @param source without the dialect
     * @param gcnArchName {@code gfx942:sramecc+:xnack-}; code for the architecture alone runs with every setting of its
     *     features
     * @throws org.ep4j.EpException with the compiler's words; when the compiler does not know the architecture, with the remedy
     */
    byte[] compile(String name, String source, String gcnArchName) {
        return compile(name, "", source, gcnArchName);
    }

    /**
     * As above.
     *
     * @param macros that the dialect looks at: lines of {@code #define}
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
        synchronized (ONE_AT_A_TIME) {
            return cache.get(
                    parts,
                    () -> HipArchitecture.isKnown(target, known)
                            ? new HipRtc(installation.compiler(), version).compile(name, whole, target, OPTIONS)
                            : apart.compile(name, whole, target));
        }
    }

    /**
     * Compiles a kernel that does nothing.
     *
     * @throws org.ep4j.EpException as {@link #compile}
     */
    void tryOut(String gcnArchName) {
        compile("a trial", TRIAL, gcnArchName);
    }
}
