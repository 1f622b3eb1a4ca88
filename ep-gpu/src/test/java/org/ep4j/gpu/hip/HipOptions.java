package org.ep4j.gpu.hip;

import java.util.List;

/** What kernels are compiled with, for tests of other packages. */
public final class HipOptions {
    private HipOptions() {}

    /** Options of HIPRTC, which clang has too, but for the architecture. */
    public static List<String> all() {
        return HipCompiler.OPTIONS;
    }

    /** What goes before the dialect for kernels that publish by relaxed stores. */
    public static String relaxedStores() {
        return HipCompiler.RELAXED_STORES;
    }

    /** Architectures that kernels are compiled for. */
    public static List<String> architectures() {
        return List.of(HipArchitecture.values()).stream()
                .map(HipArchitecture::target)
                .toList();
    }
}
