package org.ep4j.engine.gpu;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.WindowLayout;

/** The text of the kernels, put together from its parts. */
public final class KernelSource {
    /** Parts of each mode, in order; a buffer compiles only what it needs, since that takes seconds. */
    private static final List<String> HIGH_THROUGHPUT =
            List.of("ht_begin.cu", "ht_dispatch.cu", "ht_receive.cu", "ht_expand.cu", "ht_combine.cu");

    private static final List<String> LOW_LATENCY = List.of("log_fmt.cu", "ll_dispatch.cu", "ll_combine.cu");

    private static final Pattern KERNEL = Pattern.compile("^EP_KERNEL(?:_BESIDE)?\\((\\w+),", Pattern.MULTILINE);

    private KernelSource() {}

    /**
     * All kernels of a buffer, without the dialect.
     *
     * @param sharedBytes that a block may have: {@link org.ep4j.gpu.GpuInfo#sharedBytes}
     */
    public static String of(EpShape shape, int ranks, int sharedBytes) {
        return of(shape, ranks, sharedBytes, Optional.empty());
    }

    /**
     * All kernels of a buffer, without the dialect.
     *
     * @param window by which it exchanges with peers that are not mapped, if there are any
     */
    public static String of(EpShape shape, int ranks, int sharedBytes, Optional<WindowLayout> window) {
        return of(shape, ranks, sharedBytes, window, false);
    }

    /**
     * All kernels of a buffer, without the dialect.
     *
     * @param window by which it exchanges with peers that are not mapped, if there are any
     * @param postedByDevice true where kernels write these by {@link org.ep4j.spi.DevicePosted}, whose source goes before
     */
    public static String of(
            EpShape shape, int ranks, int sharedBytes, Optional<WindowLayout> window, boolean postedByDevice) {
        StringBuilder text = new StringBuilder(KernelConstants.of(shape, ranks, sharedBytes, window));
        if (postedByDevice) {
            text.append("#define EP_DEVICE_POSTED 1\n");
        }
        List<String> parts = new ArrayList<>(
                window.isPresent() && !postedByDevice
                        ? List.of("fifo.cu", "op.cu", "proxy.cu", "remote.cu")
                        : List.of("op.cu", "remote.cu"));
        if (shape.maxTokens() > 0) {
            parts.addAll(HIGH_THROUGHPUT);
            if (window.isPresent()) {
                parts.add("ht_posted.cu");
            }
        }
        if (shape.maxLowLatencyTokens() > 0) {
            parts.addAll(LOW_LATENCY);
        }
        return text.append(all(parts)).toString();
    }

    /**
     * Rings that proxy threads of the host take commands from, for kernels of any source: {@code fifo_put} and what it needs. See
     * {@link org.ep4j.engine.proxy.CommandRing}.
     */
    public static String fifo() {
        return all(List.of("fifo.cu"));
    }

    /** Commands with the waits of the engine, for kernels of the engine: {@code fifo_write} and {@code fifo_advance}. */
    public static String proxies() {
        return all(List.of("fifo.cu", "proxy.cu"));
    }

    private static String all(List<String> parts) {
        StringBuilder text = new StringBuilder();
        for (String part : parts) {
            text.append("#line 1 \"").append(part).append("\"\n").append(part(part));
        }
        return text.toString();
    }

    /** Names of the kernels of a source. */
    static List<String> kernels(String source) {
        return KERNEL.matcher(source).results().map(found -> found.group(1)).toList();
    }

    private static String part(String name) {
        try (InputStream in = KernelSource.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException(name + " is missing from the engine's jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(name + " cannot be read from the engine's jar", e);
        }
    }
}
