package org.ep4j.gpu.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Definitions of the same names for warps, atomics, fences, bulk copies and clocks on NVIDIA and AMD GPUs. */
public enum KernelDialect {
    CUDA("cuda.cu"),
    HIP("hip.cu");

    private final String resource;

    KernelDialect(String resource) {
        this.resource = resource;
    }

    /** Puts the dialect before a source, and both into a namespace of their own, since compilers define names too. */
    public String before(String source) {
        return before("", source);
    }

    /**
     * Puts macros and the dialect before a source, and dialect and source into a namespace of their own.
     *
     * @param macros that the dialect evaluates: lines of {@code #define}
     */
    public String before(String macros, String source) {
        return macros + "namespace ep {\n#line 1 \"" + resource + "\"\n" + text() + source + "}\n";
    }

    public String text() {
        return text(resource, KernelDialect.class.getResourceAsStream(resource));
    }

    /**
     * Source text of kernels in a jar.
     *
     * @param name of the resource, for messages
     * @param resource closed here; null where the jar lacks it
     */
    public static String text(String name, @Nullable InputStream resource) {
        try (InputStream in = resource) {
            if (in == null) {
                throw new IllegalStateException(name + " is missing from its jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(name + " cannot be read from its jar", e);
        }
    }
}
