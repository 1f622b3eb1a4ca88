package org.ep4j.topology.read;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.LinkType;
import org.ep4j.topology.model.Link;
import org.ep4j.topology.model.LinkBandwidths;
import org.ep4j.topology.model.PciId;
import org.ep4j.topology.model.Topology;

/** Numbers as NCCL topologies write them, with warnings about those that no machine has; readers take these as unknown. */
final class NcclValues {
    /** Number of lanes of functions that are no PCIe devices: a register of ones. */
    private static final int UNKNOWN_LANES = 255;

    /**
     * {@code 16.0 GT/s PCIe}, {@code 32 GT/s}. NCCL takes spellings that it does not know as the third generation; here
     * the number decides.
     */
    private static final Pattern RATE = Pattern.compile("\\s*([0-9]{1,3}(?:\\.[0-9])?)\\s*GT/s.*", Pattern.DOTALL);

    private static final Pattern SPEED = Pattern.compile("\\s*[0-9].*", Pattern.DOTALL);

    /** CPUID: base family 15 plus 16 times the extended family, which has 8 bits. */
    static final int FAMILY = 15 + 16 * 255;

    static final int MODEL = 255;

    /** The link of an element that is no PCIe device. */
    static final Link LOCAL = new Link(LinkType.PCI, LinkBandwidths.UNLIMITED, 1);

    private static final List<Range> RANGES = List.of(
            new Range("cpu", "numaid", -1, Limits.NUMA_NUMBER),
            new Range("cpu", "familyid", -1, FAMILY),
            new Range("cpu", "modelid", -1, MODEL),
            new Range("pci", "link_width", -1, Limits.PCIE_LANES),
            new Range("pci", "class", 0, 0xffffff),
            new Range("nvlink", "count", 0, Limits.GPU_LINKS),
            new Range("xgmi", "count", 0, Limits.GPU_LINKS),
            new Range("c2c", "count", 0, Limits.GPU_LINKS),
            new Range("c2c", "bw", 0, Limits.LINK_MEGABYTES),
            new Range("net", "port", -1, Limits.PORTS));

    private NcclValues() {}

    private record Range(String element, String attribute, int least, int most) {}

    /** Warns of every value that is outside its range or no number. */
    static void check(XmlElement element, Topology.Builder topology) {
        for (Range range : RANGES) {
            if (range.element().equals(element.name())
                    && !element.value(range.attribute()).isBlank()) {
                check(element, range, topology);
            }
        }
        String speed = element.name().equals("pci") ? element.value("link_speed") : "";
        if (SPEED.matcher(speed).matches() && transfers(speed).isEmpty()) {
            topology.warn("line " + element.line() + ": link_speed of <pci> is " + Faults.quote(speed)
                    + "; no lane is faster than " + Limits.PCIE_TRANSFERS + " GT/s, so it counts as unknown");
        }
        element.children().forEach(child -> check(child, topology));
    }

    /** Ids of a {@code pci} element. Templates write 0x0000 or 0xffff for ids that they do not know. */
    static PciId id(XmlElement pci) {
        return new PciId(
                pci.number("vendor", 1, 0xfffe, -1),
                pci.number("device", 1, 0xfffe, -1),
                pci.number("subsystem_vendor", 0, 0xffff, -1),
                pci.number("subsystem_device", 0, 0xffff, -1),
                pci.number("class", 0, 0xffffff, -1));
    }

    /**
     * Returns whether NICs can reach GPU memory by a {@code gpu} or {@code net} element; empty when it does not say.
     */
    static Optional<Boolean> gpuDirect(XmlElement element) {
        return element.number("gdr").stream().mapToObj(gdr -> gdr != 0).findFirst();
    }

    /** The link above a {@code pci} element. */
    static Link link(XmlElement pci) {
        int lanes = pci.number("link_width").orElse(0);
        return new Link(LinkType.PCI, pcieRate(pci.value("link_speed"), lanes), 1);
    }

    /** Gigabytes a second of a PCIe link in one direction. What is missing or impossible counts as unknown. */
    static double pcieRate(String speed, int lanes) {
        return LinkBandwidths.pci(transfers(speed).orElse(0), lanes > Limits.PCIE_LANES ? 0 : lanes);
    }

    /** Gigatransfers a second of a lane; empty for what is no rate, or one that no lane has. */
    private static OptionalDouble transfers(String speed) {
        Matcher rate = RATE.matcher(speed);
        double transfers = rate.matches() ? Double.parseDouble(rate.group(1)) : Double.MAX_VALUE;
        return transfers > Limits.PCIE_TRANSFERS ? OptionalDouble.empty() : OptionalDouble.of(transfers);
    }

    /**
     * Family of an x86 processor as NCCL counts it. Linux adds base and extended family, NCCL shifts the extended one:
     * Zen 4 is 25 to one, 175 to the other.
     */
    static int family(int linux) {
        return linux > 15 ? 15 + 16 * (linux - 15) : linux;
    }

    private static void check(XmlElement element, Range range, Topology.Builder topology) {
        OptionalInt number = element.number(range.attribute());
        boolean lanes = range.most() == Limits.PCIE_LANES && number.isPresent() && number.getAsInt() == UNKNOWN_LANES;
        boolean within = number.isPresent() && number.getAsInt() >= range.least() && number.getAsInt() <= range.most();
        if (!within && !lanes) {
            topology.warn("line " + element.line() + ": " + range.attribute() + " of <" + element.name() + "> is "
                    + Faults.quote(element.value(range.attribute())) + "; expected a number from " + range.least()
                    + " to "
                    + range.most() + ", so it counts as unknown");
        }
    }
}
