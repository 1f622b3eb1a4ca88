package org.ep4j.plan.offer;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.ep4j.EpConfig;
import org.ep4j.EpConfigException;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.Settings;
import org.ep4j.topology.NicFamily;

/**
 * Limits of what one rank has in flight on one NIC, to all peers together. Some kinds of NIC report errors beyond them; others
 * slow down. Settings come first ({@link EpKeys#NIC_INFLIGHT_BYTES} and its neighbours), then what is known of the kind.
 *
 * @param bytes bytes of writes; 0 for no limit
 * @param writes writes of high throughput, {@link org.ep4j.spi.HostPosted#put}; 0 for no limit
 * @param messages writes of low latency and of control data, {@link org.ep4j.spi.HostPosted#putMessage}; 0 for no limit
 * @param source kind of NIC or settings that the limits are from, for people; empty where there are none
 */
public record FlowLimits(long bytes, int writes, int messages, String source) {
    /** No limit at all. */
    public static final FlowLimits NONE = new FlowLimits(0, 0, 0, "");

    /**
     * Thor-2 and Pollara: UCCL's {@code ep/README.md}; beyond these, requests end with status 12. EFA: UCCL's defaults ({@code
     * ep/include/common.hpp}, kMaxInflightNormal 8 and kMaxInflightLowLatency 32). UCCL limits writes by fifo, of which a GPU
     * has 32.
     */
    private static final Map<NicFamily, FlowLimits> KNOWN = new EnumMap<>(Map.of(
            NicFamily.BNXT, new FlowLimits(1_572_864, 32, 1024, "Broadcom Thor-2"),
            NicFamily.IONIC, new FlowLimits(2_097_152, 32, 1024, "AMD Pollara"),
            NicFamily.EFA, new FlowLimits(0, 256, 1024, "AWS EFA")));

    /** The limits known for a kind of NIC; {@link #NONE} where nothing is known. */
    public static FlowLimits of(NicFamily family) {
        return KNOWN.getOrDefault(family, NONE);
    }

    /**
     * Returns a copy with the limits that are set in {@code config}; a limit that is not set there stays as it is.
     *
     * @throws EpConfigException naming a value that is malformed
     */
    public FlowLimits with(EpConfig config) {
        Settings.INFLIGHT.forEach(key -> key.get(config));
        return with(Settings.ofRank(config, Settings.INFLIGHT));
    }

    /**
     * Returns a copy with the limits in the settings of a rank's profile; a limit that is not set there stays as it is.
     */
    public FlowLimits with(Map<String, String> settings) {
        long setBytes = value(settings, EpKeys.NIC_INFLIGHT_BYTES);
        int setWrites = (int) value(settings, EpKeys.NIC_INFLIGHT_WRITES);
        int setMessages = (int) value(settings, EpKeys.NIC_INFLIGHT_MESSAGES);
        List<String> from = new ArrayList<>();
        if (!source.isEmpty() && !(setBytes > 0 && setWrites > 0 && setMessages > 0)) {
            from.add(source);
        }
        for (ConfigKey<?> key : Settings.INFLIGHT) {
            if (value(settings, key) > 0) {
                from.add(settings.getOrDefault(Settings.variableOf(key), key.name()));
            }
        }
        return new FlowLimits(
                setBytes > 0 ? setBytes : bytes,
                setWrites > 0 ? setWrites : writes,
                setMessages > 0 ? setMessages : messages,
                String.join(", ", from));
    }

    private static long value(Map<String, String> settings, ConfigKey<?> key) {
        String text = settings.get(key.name());
        return text == null ? 0 : ((Number) key.parse(text)).longValue();
    }

    /** Returns true if nothing is limited. */
    public boolean none() {
        return bytes == 0 && writes == 0 && messages == 0;
    }

    /**
     * Text for people, for example {@code 1.5 MiB, 32 writes of high throughput, 1024 of low latency (Broadcom
     * Thor-2)}.
     */
    public String text() {
        if (none()) {
            return "no limit";
        }
        List<String> parts = new ArrayList<>();
        if (bytes > 0) {
            parts.add(
                    bytes < 1 << 20
                            ? String.format(Locale.ROOT, "%.1f KiB", bytes / 1024.0)
                            : String.format(Locale.ROOT, "%.1f MiB", bytes / (double) (1 << 20)));
        }
        if (writes > 0) {
            parts.add(count(writes) + " of high throughput");
        }
        if (messages > 0) {
            parts.add((writes > 0 ? messages : count(messages)) + " of low latency");
        }
        return String.join(", ", parts) + (source.isEmpty() ? "" : " (" + source + ")");
    }

    private static String count(int count) {
        return count == 1 ? "1 write" : count + " writes";
    }
}
