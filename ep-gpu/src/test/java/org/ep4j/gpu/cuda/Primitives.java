package org.ep4j.gpu.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Kernels that use all that a dialect offers. */
public final class Primitives {
    public static final String SOURCE = read();

    private Primitives() {}

    private static String read() {
        try (InputStream in = Primitives.class.getResourceAsStream("primitives.cu")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
