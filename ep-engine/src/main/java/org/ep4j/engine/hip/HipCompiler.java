package org.ep4j.engine.hip;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.EpUnavailableException;
import org.ep4j.engine.driver.KernelCache;
import org.ep4j.engine.gpu.KernelSource;

/** Kernels as code objects of one architecture: from the cache, else from HIPRTC. */
final class HipCompiler {
    /** The standard that the sources are written in; and no fused operations that the sources do not ask for. */
    static final List<String> OPTIONS = List.of("-std=c++17", "-O3", "-ffp-contract=off");

    /** One compilation at a time in a process: ranks that are threads ask for the same code at the same moment. */
    private static final Object ONE_AT_A_TIME = new Object();

    private final HipInstallation installation;
    private final KernelCache cache;

    HipCompiler(HipInstallation installation, KernelCache cache) {
        this.installation = installation;
        this.cache = cache;
    }

    /**
     * Compiles.
     *
     * @param source without the dialect
     * @param gcnArchName {@code gfx942:sramecc+:xnack-}; code for the architecture alone runs with every setting of its
     *     features
     * @throws EpUnavailableException before HIPRTC is asked, when it does not know the architecture
     */
    byte[] compile(String name, String source, String gcnArchName) {
        HipVersion version = installation
                .compilerVersion()
                .orElseThrow(() -> new EpUnavailableException("the version of HIPRTC in " + installation.compiler()
                        + " cannot be told from its name, and it must not be asked for an architecture that it does not"
                        + " know; set " + HipInstallation.VARIABLE + " to the lib folder of an installed ROCm"));
        HipArchitecture architecture = HipArchitecture.require(gcnArchName, version);
        String whole = KernelSource.in("hip.cu", source);
        synchronized (ONE_AT_A_TIME) {
            List<String> parts = new ArrayList<>(OPTIONS);
            parts.add(architecture.target());
            parts.add("hiprtc " + version + " " + installation.compiler());
            parts.add(whole);
            return cache.get(
                    parts,
                    () -> new HipRtc(installation.compiler(), version).compile(name, whole, architecture, OPTIONS));
        }
    }
}
