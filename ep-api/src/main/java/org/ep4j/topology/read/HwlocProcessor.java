package org.ep4j.topology.read;

import org.ep4j.topology.Processor;
import org.ep4j.topology.Topology;

/** The processor of a hwloc topology. */
final class HwlocProcessor {
    /** Of Linux: 15 and 255 for the family, 255 for the model. */
    private static final int MOST = 270;

    private HwlocProcessor() {}

    static Processor read(HwlocFile file, Topology.Builder topology) {
        String architecture = file.info("Architecture");
        int family = number(file, topology, "CPUFamilyNumber");
        return new Processor(
                architecture.startsWith("ppc64") ? "ppc64" : architecture.equals("aarch64") ? "arm64" : architecture,
                file.info("CPUVendor"),
                // Linux adds base (15) and extended family; NCCL adds base and 16 times the extended family.
                family > 15 ? 15 + 16 * (family - 15) : family,
                number(file, topology, "CPUModelNumber"));
    }

    private static int number(HwlocFile file, Topology.Builder topology, String name) {
        String text = file.info(name);
        int number = text.matches("[0-9]{1,6}") ? Integer.parseInt(text) : -1;
        if (!text.isEmpty() && (number < 0 || number > MOST)) {
            topology.warn(name + " " + Faults.quote(text) + " is no number from 0 to " + MOST + "; taken as unknown");
            return -1;
        }
        return number;
    }
}
