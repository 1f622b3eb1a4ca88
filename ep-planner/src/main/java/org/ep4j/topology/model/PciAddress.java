package org.ep4j.topology.model;

import java.util.Comparator;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Place of a PCI function: domain, bus, device, function. Domains may be wider than 16 bits (Azure, VMD).
 *
 * @param domain PCI domain
 * @param bus bus in the domain
 * @param device device on the bus
 * @param function function of the device
 */
public record PciAddress(long domain, int bus, int device, int function) implements Comparable<PciAddress> {
    private static final Pattern FORM =
            Pattern.compile("(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})\\.([0-9a-fA-F])");

    private static final Comparator<PciAddress> ORDER = Comparator.comparingLong(PciAddress::domain)
            .thenComparingInt(PciAddress::bus)
            .thenComparingInt(PciAddress::device)
            .thenComparingInt(PciAddress::function);

    /** Reads {@code 0000:0f:00.0}; without a domain, domain 0. Empty when the text is no address. */
    public static Optional<PciAddress> parse(String text) {
        Matcher form = FORM.matcher(text.trim());
        if (!form.matches()) {
            return Optional.empty();
        }
        String domain = form.group(1);
        return Optional.of(new PciAddress(
                domain == null ? 0 : Long.parseLong(domain, 16),
                Integer.parseInt(form.group(2), 16),
                Integer.parseInt(form.group(3), 16),
                Integer.parseInt(form.group(4), 16)));
    }

    /** Address of function 0 of the same device, which is equal for all ports of one card. */
    public PciAddress card() {
        return new PciAddress(domain, bus, device, 0);
    }

    @Override
    public int compareTo(PciAddress other) {
        return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
        return hex(domain, 4) + ":" + hex(bus, 2) + ":" + hex(device, 2) + "." + Integer.toHexString(function);
    }

    /** Machines with hundreds of devices name theirs very often, and a format is slow. */
    private static String hex(long value, int digits) {
        String text = Long.toHexString(value);
        return "0".repeat(Math.max(0, digits - text.length())) + text;
    }
}
