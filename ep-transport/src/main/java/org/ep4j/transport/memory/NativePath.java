package org.ep4j.transport.memory;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/** Paths as calls of the C library take them. */
public final class NativePath {
    private NativePath() {}

    /** A path as the kernel sees it, ended by a zero: in the encoding that the JDK uses for file names. */
    public static byte[] bytes(Path path) {
        String encoding = System.getProperty("sun.jnu.encoding", "UTF-8");
        Charset charset = Charset.isSupported(encoding) ? Charset.forName(encoding) : StandardCharsets.UTF_8;
        byte[] text = path.toString().getBytes(charset);
        return Arrays.copyOf(text, text.length + 1);
    }
}
