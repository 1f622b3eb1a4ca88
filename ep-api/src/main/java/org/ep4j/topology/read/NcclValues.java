package org.ep4j.topology.read;

import java.util.List;
import java.util.OptionalInt;
import java.util.regex.Pattern;
import org.ep4j.topology.Topology;

/** Warnings about numbers of a NCCL topology that no machine has; readers take these as unknown. */
final class NcclValues {
    /** Number of lanes of functions that are no PCIe devices: a register of ones. */
    private static final int UNKNOWN_LANES = 255;

    private static final int MOST_LANES = 32;

    private static final Pattern SPEED = Pattern.compile("\\s*[0-9].*", Pattern.DOTALL);

    /** CPUID: base family 15 plus 16 times the extended family, which has 8 bits. */
    static final int FAMILY = 15 + 16 * 255;

    static final int MODEL = 255;

    private static final List<Range> RANGES = List.of(
            new Range("cpu", "numaid", -1, Limits.NUMA_NUMBER),
            new Range("cpu", "familyid", -1, FAMILY),
            new Range("cpu", "modelid", -1, MODEL),
            new Range("pci", "link_width", -1, MOST_LANES),
            new Range("pci", "class", 0, 0xffffff),
            new Range("nvlink", "count", 0, 1024),
            new Range("xgmi", "count", 0, 1024),
            new Range("c2c", "count", 0, 1024),
            new Range("c2c", "bw", 0, 10_000_000),
            new Range("net", "port", -1, Limits.PORTS));

    private NcclValues() {}

    /** What an attribute may be. */
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
        if (SPEED.matcher(speed).matches() && PcieRate.isUnknown(speed)) {
            topology.warn("line " + element.line() + ": link_speed of <pci> is " + Faults.quote(speed)
                    + "; no lane is faster than " + PcieRate.FASTEST + " GT/s, so it counts as unknown");
        }
        element.children().forEach(child -> check(child, topology));
    }

    private static void check(XmlElement element, Range range, Topology.Builder topology) {
        OptionalInt number = element.number(range.attribute());
        boolean lanes = range.most() == MOST_LANES && number.isPresent() && number.getAsInt() == UNKNOWN_LANES;
        boolean within = number.isPresent() && number.getAsInt() >= range.least() && number.getAsInt() <= range.most();
        if (!within && !lanes) {
            topology.warn("line " + element.line() + ": " + range.attribute() + " of <" + element.name() + "> is "
                    + Faults.quote(element.value(range.attribute())) + "; expected a number from " + range.least()
                    + " to "
                    + range.most() + ", so it counts as unknown");
        }
    }
}
