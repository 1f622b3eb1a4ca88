package org.ep4j.plan.offer;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import org.ep4j.topology.NicFamily;

/**
 * How much a kind of NIC takes at once before it reports errors or slows down.
 *
 * @param nic the kind, for people; empty for kinds of which nothing is known
 * @param bytes bytes of one rank that may be under way on it, to all peers; 0 for no limit
 * @param largeWrites writes of 64 KiB or more to one peer that may be under way on it
 * @param smallWrites the same of smaller writes
 */
public record FlowLimits(String nic, long bytes, int largeWrites, int smallWrites) {
    /** 8 and 32 writes: the defaults of UCCL ({@code ep/include/common.hpp}, kMaxInflightNormal and LowLatency). */
    public static final FlowLimits ANY = new FlowLimits("", 0, 8, 32);

    /** The limits of Thor-2 and Pollara are those of UCCL's {@code ep/README.md}: beyond them requests end with status 12. */
    private static final Map<NicFamily, FlowLimits> KNOWN = new EnumMap<>(Map.of(
            NicFamily.BNXT, new FlowLimits("Broadcom Thor-2", 1_572_864, 1, 32),
            NicFamily.IONIC, new FlowLimits("AMD Pollara", 2_097_152, 1, 32),
            NicFamily.EFA, new FlowLimits("AWS EFA", 0, 8, 32),
            NicFamily.IRDMA, new FlowLimits("Intel irdma", 0, 8, 32)));

    /** Of a kind; {@link #ANY} where nothing is known of it. */
    public static FlowLimits of(NicFamily family) {
        return KNOWN.getOrDefault(family, ANY);
    }

    /** True where the NIC is known to fail beyond the limits, so that a backend which knows none of its own keeps them. */
    public boolean strict() {
        return bytes > 0;
    }

    /** {@code AWS EFA}, or that the kind has no profile. */
    public String name() {
        return nic.isEmpty() ? "no profile" : nic;
    }

    /** The limit of bytes, for people: {@code 1.5 MiB}. */
    public String bytesText() {
        return bytes == 0 ? "any number of bytes" : String.format(Locale.ROOT, "%.1f MiB", bytes / (double) (1 << 20));
    }
}
