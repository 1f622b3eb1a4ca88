package org.ep4j.gpu.driver;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

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

    /** The source text of the dialect. */
    public String text() {
        try (InputStream in = KernelDialect.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException(resource + " is missing from the jar of ep-gpu");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(resource + " cannot be read from the jar of ep-gpu", e);
        }
    }
}
