package org.ep4j.topology.read;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.LinkBandwidths;

/** Reads rates of PCIe links as sysfs and topologies of NCCL write them: {@code 16.0 GT/s PCIe}, {@code 32 GT/s}. */
final class PcieRate {
    /** NCCL takes spellings that it does not know as the third generation; here the number decides. */
    private static final Pattern RATE = Pattern.compile("\\s*([0-9]{1,3}(?:\\.[0-9])?)\\s*GT/s.*", Pattern.DOTALL);

    /** Gigatransfers a second of a lane of PCIe 7. */
    static final double FASTEST = 128;

    private static final int MOST_LANES = 32;

    private PcieRate() {}

    /** True for what is no rate, or one that no lane has. */
    static boolean isUnknown(String speed) {
        Matcher rate = RATE.matcher(speed);
        return !rate.matches() || Double.parseDouble(rate.group(1)) > FASTEST;
    }

    /** Gigabytes a second in one direction. What is missing or impossible counts as unknown. */
    static double gigabytesPerSecond(String speed, int lanes) {
        Matcher rate = RATE.matcher(speed);
        double transfers = rate.matches() && !isUnknown(speed) ? Double.parseDouble(rate.group(1)) : 0;
        return LinkBandwidths.pci(transfers, lanes > MOST_LANES ? 0 : lanes);
    }
}
