package org.ep4j.topology.read;

import java.util.HashMap;
import java.util.Map;
import org.ep4j.topology.Processor;

/** Reads {@code /proc/cpuinfo}. */
final class Processors {
    private Processors() {}

    /** The kind of the first processor; those of one machine are of one kind. */
    static Processor read(FileTree tree) {
        Map<String, String> first = new HashMap<>();
        for (String line : tree.text("/proc/cpuinfo").orElse("").lines().toList()) {
            int colon = line.indexOf(':');
            if (colon > 0) {
                first.putIfAbsent(
                        line.substring(0, colon).strip(),
                        line.substring(colon + 1).strip());
            }
        }
        if (first.containsKey("vendor_id")) {
            String vendor = first.getOrDefault("vendor_id", "");
            int family = number(first.getOrDefault("cpu family", ""));
            // The kernel adds base and extended family, NCCL shifts the extended one: Zen 4 is 25 to one, 175 to the
            // other.
            int counted = family > 15 ? 15 + (family - 15) * 16 : family;
            return new Processor("x86_64", vendor, counted, number(first.getOrDefault("model", "")));
        }
        if (first.containsKey("CPU implementer")) {
            return new Processor("arm64", "", -1, -1);
        }
        return first.getOrDefault("cpu", "").startsWith("POWER")
                ? new Processor("ppc64", "", -1, -1)
                : Processor.UNKNOWN;
    }

    private static int number(String text) {
        return text.matches("\\d{1,5}") ? Integer.parseInt(text) : -1;
    }
}
