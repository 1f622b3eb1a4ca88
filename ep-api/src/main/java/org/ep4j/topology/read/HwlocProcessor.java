package org.ep4j.topology.read;

import org.ep4j.topology.Processor;

/** The processor of a hwloc topology. */
final class HwlocProcessor {
    private HwlocProcessor() {}

    static Processor read(HwlocFile file) {
        String architecture = file.info("Architecture");
        int family = number(file.info("CPUFamilyNumber"));
        return new Processor(
                architecture.startsWith("ppc64") ? "ppc64" : architecture.equals("aarch64") ? "arm64" : architecture,
                file.info("CPUVendor"),
                // Linux adds base (15) and extended family; NCCL adds base and 16 times the extended family.
                family > 15 ? 15 + 16 * (family - 15) : family,
                number(file.info("CPUModelNumber")));
    }

    private static int number(String text) {
        return text.matches("[0-9]{1,6}") ? Integer.parseInt(text) : -1;
    }
}
