package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.EpPath;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.Announcement;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.gpu.driver.KernelDialect;

/** Source text of the kernels, assembled from its parts. */
public final class KernelSource {
    private static final List<String> TRANSPORTS =
            List.of("fifo.cu", "op.cu", "mapped.cu", "host_posted.cu", "device_posted.cu", "path.cu");

    private static final Pattern KERNEL = Pattern.compile("^EP_KERNEL(?:_BESIDE)?\\((\\w+),", Pattern.MULTILINE);

    private KernelSource() {}

    /**
     * Returns all kernels of a buffer in one source, without the dialect.
     *
     * @param sharedBytes limit of a block: {@link org.ep4j.gpu.GpuInfo#sharedBytes}
     * @param window for peers that are not mapped, if there are any
     * @param posted DEVICE_POSTED if these kernels call {@link org.ep4j.spi.DevicePosted}, whose source comes before; HOST_POSTED if host
     *     threads post between any ranks of the group
     */
    public static String of(
            EpShape shape, int ranks, int sharedBytes, Optional<WindowLayout> window, Set<EpPath.Kind> posted) {
        List<String> all =
                units(shape, window).stream().flatMap(List::stream).distinct().toList();
        return before(shape, ranks, sharedBytes, window, posted) + parts(all);
    }

    /**
     * Returns the kernels of {@link #of} in several sources, which can be compiled side by side: compiling all kernels takes seconds. Not for
     * kernels that call a device library, which has state in the module that it is linked into.
     */
    public static List<String> units(
            EpShape shape, int ranks, int sharedBytes, Optional<WindowLayout> window, Set<EpPath.Kind> posted) {
        String before = before(shape, ranks, sharedBytes, window, posted);
        return units(shape, window).stream().map(unit -> before + parts(unit)).toList();
    }

    private static String before(
            EpShape shape, int ranks, int sharedBytes, Optional<WindowLayout> window, Set<EpPath.Kind> posted) {
        List<String> parts = new ArrayList<>();
        if (!posted.contains(EpPath.Kind.DEVICE_POSTED)) {
            parts.add("no_device_library.cu");
        }
        parts.addAll(TRANSPORTS);
        return constants(shape, ranks, sharedBytes, window, posted) + parts(parts);
    }

    /** Parts of each source; a buffer compiles only those that it needs. */
    private static List<List<String>> units(EpShape shape, Optional<WindowLayout> window) {
        List<List<String>> units = new ArrayList<>();
        if (shape.maxTokens() > 0) {
            units.add(highThroughput("ht_dispatch.cu", window.map(layout -> "ht_take.cu")));
            units.add(List.of("ht_begin.cu", "ht_receive.cu", "ht_expand.cu"));
            units.add(highThroughput("ht_combine.cu", window.map(layout -> "ht_give.cu")));
        }
        if (shape.maxLowLatencyTokens() > 0) {
            units.add(List.of("ll_begin.cu", "ll_dispatch_send.cu"));
            units.add(List.of("ll_begin.cu", "ll_dispatch_receive.cu"));
            units.add(List.of("ll_begin.cu", "ll_combine_begin.cu", "ll_combine_send.cu"));
            units.add(List.of("ll_begin.cu", "ll_combine_begin.cu", "log_fmt.cu", "ll_combine_send_coded.cu"));
            units.add(List.of("ll_begin.cu", "ll_combine_begin.cu", "log_fmt.cu", "ll_combine_receive.cu"));
        }
        return units;
    }

    private static List<String> highThroughput(String part, Optional<String> withChannels) {
        return Stream.concat(Stream.of("ht_begin.cu", part), withChannels.stream())
                .toList();
    }

    /** Source of parts that other kernels are compiled with, such as {@code fifo.cu}, whose rings {@link org.ep4j.engine.proxy.CommandRing} reads. */
    public static String parts(String... parts) {
        return parts(List.of(parts));
    }

    private static String parts(List<String> parts) {
        return parts.stream()
                .map(part -> "#line 1 \"" + part + "\"\n" + part(part))
                .collect(Collectors.joining());
    }

    static List<String> kernels(String source) {
        return KERNEL.matcher(source).results().map(found -> found.group(1)).toList();
    }

    private static String part(String name) {
        return KernelDialect.text(name, KernelSource.class.getResourceAsStream(name));
    }

    /** Returns a shape and its layout as macros, for all kernels: lines of {@code #define}. */
    private static String constants(
            EpShape shape, int ranks, int sharedBytes, Optional<WindowLayout> window, Set<EpPath.Kind> posted) {
        BufferLayout layout = new BufferLayout(shape, ranks);
        Map<String, Long> values = new LinkedHashMap<>();
        values.put("RANKS", (long) ranks);
        values.put("HIDDEN", (long) shape.hidden());
        values.put("EXPERTS", (long) shape.experts());
        values.put("TOPK", (long) shape.topK());
        values.put("SCALES", (long) shape.scales());
        values.put("MAX_TOKENS", (long) shape.maxTokens());
        values.put("MAX_LL_TOKENS", (long) shape.maxLowLatencyTokens());
        values.put("CAPACITY", shape.maxTokens() == 0 ? 0 : ShapeSizes.receivedRows(shape, ranks));
        values.put("ANNOUNCEMENTS", layout.announcement(Announcement.HIGH_THROUGHPUT, 0, 0));
        values.put("ANNOUNCEMENT_BYTES", (long) layout.announcementBytes());
        values.put("ROWS", layout.rows());
        values.put("RECORDS", layout.record(0));
        values.put("RECORD_BYTES", (long) layout.recordBytes());
        values.put("COMBINE_AREA", layout.combineArea());
        values.put("COMBINE_WEIGHTS", layout.combineWeights(0));
        values.put("MESSAGES", layout.message(0, 0, 0));
        values.put("MESSAGE_HEAD", (long) layout.messageHead());
        values.put("MESSAGE_BYTES", (long) layout.messageBytes());
        values.put("MESSAGE_FLAGS", layout.messageFlag(0, 0, 0));
        values.put("LL_COUNTS", layout.counts(0, 0));
        values.put("LL_COUNT_BYTES", (long) layout.countBytes());
        values.put("COMBINE_SLOTS", layout.combineSlot(0, 0, 0));
        values.put("COMBINE_SLOT_HEAD", (long) layout.combineSlotHead());
        values.put("COMBINE_SLOT_BYTES", (long) layout.combineSlotBytes());
        values.put("COMBINE_FLAGS", layout.combineFlag(0, 0, 0));
        values.put("LL_TABLE_EXPERTS", (long)
                LowLatencyLaunch.tableExperts(layout.messageHead(), ranks, window.isPresent(), sharedBytes));
        values.put("CHUNK", (long) KernelSizes.chunk(shape, ranks));
        values.put("PIECE", (long) KernelSizes.PIECE);
        values.put("STAGED_RECORDS", KernelSizes.stagesRecords(shape, layout, ranks) ? 1L : 0L);
        values.put("HOST_POSTED", window.isPresent() && posted.contains(EpPath.Kind.HOST_POSTED) ? 1L : 0L);
        values.put("DEVICE_POSTED", posted.contains(EpPath.Kind.DEVICE_POSTED) ? 1L : 0L);
        values.put("RELAYS", window.filter(WindowLayout::relays).isPresent() ? 1L : 0L);
        values.put("CHANNELS", (long) window.map(WindowLayout::channels).orElse(0));
        // Without channels what depends on these is never compiled; none may be 0, since some are divided by.
        BiConsumer<String, ToLongFunction<WindowLayout>> channel =
                (name, value) -> values.put(name, window.map(value::applyAsLong).orElse(1L));
        channel.accept("RELAYED_RECORD_BYTES", WindowLayout::relayedRecordBytes);
        channel.accept("CHANNEL_BYTES", WindowLayout::channelBytes);
        channel.accept("CHANNEL_ROOM", WindowLayout::channelRows);
        channel.accept("OUTGOING", w -> w.outgoing(0));
        channel.accept("INCOMING", w -> w.incoming(0));
        channel.accept("CHANNEL_ROWS", WindowLayout::rows);
        channel.accept("CHANNEL_RECORDS", WindowLayout::records);
        channel.accept("CHANNEL_WEIGHTS", WindowLayout::weights);
        channel.accept("CHANNEL_MESSAGES", WindowLayout::messages);
        channel.accept("CHANNEL_MESSAGE_FLAGS", WindowLayout::messageFlags);
        channel.accept("CHANNEL_COUNTS", WindowLayout::counts);
        channel.accept("CHANNEL_SLOTS", WindowLayout::slots);
        channel.accept("CHANNEL_SLOT_FLAGS", WindowLayout::slotFlags);
        return values.entrySet().stream()
                .map(e -> "#define EP_" + e.getKey() + " " + literal(e.getValue()))
                .collect(Collectors.joining("\n", "", "\n"));
    }

    private static String literal(long value) {
        return value == (int) value ? Long.toString(value) : value + "ull";
    }
}
