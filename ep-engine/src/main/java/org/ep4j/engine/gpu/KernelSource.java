package org.ep4j.engine.gpu;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.Announcement;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.ShapeSizes;
import org.ep4j.engine.layout.WindowLayout;
import org.ep4j.gpu.driver.KernelDialect;

/** Source text of the kernels, assembled from its parts. */
public final class KernelSource {
    /** Parts of each mode, in order; a buffer compiles only the parts that it needs, since compilation takes seconds. */
    private static final List<String> HIGH_THROUGHPUT =
            List.of("ht_begin.cu", "ht_dispatch.cu", "ht_receive.cu", "ht_expand.cu", "ht_combine.cu");

    private static final List<String> LOW_LATENCY = List.of("log_fmt.cu", "ll_dispatch.cu", "ll_combine.cu");

    private static final Pattern KERNEL = Pattern.compile("^EP_KERNEL(?:_BESIDE)?\\((\\w+),", Pattern.MULTILINE);

    private KernelSource() {}

    /**
     * Returns all kernels of a buffer, without the dialect.
     *
     * @param sharedBytes limit of a block: {@link org.ep4j.gpu.GpuInfo#sharedBytes}
     * @param window for peers that are not mapped, if there are any
     * @param postedByDevice whether kernels post to these by {@link org.ep4j.spi.DevicePosted}, whose source comes before
     */
    public static String of(
            EpShape shape, int ranks, int sharedBytes, Optional<WindowLayout> window, boolean postedByDevice) {
        StringBuilder text = new StringBuilder(constants(shape, ranks, sharedBytes, window));
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
        return text.append(parts(parts.toArray(String[]::new))).toString();
    }

    /** Source of parts that other kernels are compiled with, such as {@code fifo.cu}, whose rings {@link org.ep4j.engine.proxy.CommandRing} reads. */
    public static String parts(String... parts) {
        StringBuilder text = new StringBuilder();
        for (String part : parts) {
            text.append("#line 1 \"").append(part).append("\"\n").append(part(part));
        }
        return text.toString();
    }

    static List<String> kernels(String source) {
        return KERNEL.matcher(source).results().map(found -> found.group(1)).toList();
    }

    private static String part(String name) {
        return KernelDialect.text(name, KernelSource.class.getResourceAsStream(name));
    }

    /** Returns a shape and its layout as macros, for all kernels: lines of {@code #define}. */
    private static String constants(EpShape shape, int ranks, int sharedBytes, Optional<WindowLayout> window) {
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
        values.put("LL_TABLE_EXPERTS", (long) LowLatencyLaunch.tableExperts(layout.messageHead(), ranks, sharedBytes));
        values.put("CHUNK", (long) KernelSizes.chunk(shape, ranks));
        values.put("PIECE", (long) KernelSizes.PIECE);
        values.put("STAGED_RECORDS", KernelSizes.stagesRecords(shape, layout, ranks) ? 1L : 0L);
        values.put("POSTED", window.isPresent() ? 1L : 0L);
        values.put("RELAYS", window.filter(WindowLayout::relays).isPresent() ? 1L : 0L);
        window.ifPresent(w -> {
            values.put("RELAYED_RECORD_BYTES", (long) w.relayedRecordBytes());
            values.put("CHANNELS", (long) w.channels());
            values.put("CHANNEL_BYTES", w.channelBytes());
            values.put("CHANNEL_ROOM", w.channelRows());
            values.put("OUTGOING", w.outgoing(0));
            values.put("INCOMING", w.incoming(0));
            values.put("CHANNEL_ROWS", w.rows());
            values.put("CHANNEL_RECORDS", w.records());
            values.put("CHANNEL_WEIGHTS", w.weights());
            values.put("CHANNEL_MESSAGES", w.messages());
            values.put("CHANNEL_MESSAGE_FLAGS", w.messageFlags());
            values.put("CHANNEL_COUNTS", w.counts());
            values.put("CHANNEL_SLOTS", w.slots());
            values.put("CHANNEL_SLOT_FLAGS", w.slotFlags());
        });
        return values.entrySet().stream()
                .map(e -> "#define EP_" + e.getKey() + " " + literal(e.getValue()))
                .collect(Collectors.joining("\n", "", "\n"));
    }

    private static String literal(long value) {
        return value == (int) value ? Long.toString(value) : value + "ull";
    }
}
