package org.ep4j.plan.offer;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import org.ep4j.topology.NicFamily;

/**
 * How much a kind of NIC takes at once before it reports errors or slows down: what one rank may have under way on it, to all
 * peers together.
 *
 * @param nic the kind, for people; empty for kinds of which nothing is known
 * @param bytes bytes; 0 for no limit
 * @param largeWrites writes of {@link #LARGE} bytes or more, as high throughput makes them; 0 for no limit
 * @param smallWrites smaller writes, as low latency makes them; 0 for no limit
 */
public record FlowLimits(String nic, long bytes, int largeWrites, int smallWrites) {
    /** Writes from this size on are large: they carry many tokens, smaller ones one or a few. */
    public static final int LARGE = 64 << 10;

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

    /** These, with what settings say instead where they are above 0. */
    public FlowLimits with(long otherBytes, int otherLarge, int otherSmall) {
        return new FlowLimits(
                nic,
                otherBytes > 0 ? otherBytes : bytes,
                otherLarge > 0 ? otherLarge : largeWrites,
                otherSmall > 0 ? otherSmall : smallWrites);
    }

    /** {@code AWS EFA}, or that the kind has no profile. */
    public String name() {
        return nic.isEmpty() ? "no profile" : nic;
    }

    /** The limit of bytes, for people: {@code 1.5 MiB}. */
    public String bytesText() {
        return bytes == 0 ? "any number of bytes" : String.format(Locale.ROOT, "%.1f MiB", bytes / (double) (1 << 20));
    }

    /** All of it for people: {@code AWS EFA: any number of bytes, 8 writes of 64 KiB and more, 32 smaller ones, of a rank on a NIC}. */
    public String text() {
        if (bytes == 0 && largeWrites == 0 && smallWrites == 0) {
            return name() + ": no limit";
        }
        return name() + ": " + bytesText() + ", " + writes(largeWrites) + (largeWrites == 1 ? " write" : " writes")
                + " of 64 KiB and more, " + writes(smallWrites) + " smaller, of a rank on a NIC";
    }

    private static String writes(int most) {
        return most == 0 ? "any" : Integer.toString(most);
    }
}
