package org.ep4j.topology.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.model.PciAddress;
import org.ep4j.topology.model.Topology;

/**
 * Rates of ports that cannot be read from {@code /sys}, or are no numbers there. Those for which the same is taken instead are named
 * together, since machines have dozens of ports.
 */
final class LostRates {
    private static final String PCIE = "what the PCIe link allows (for EFA, the rate of the NIC's model)";

    /** What is taken instead of the rate of a bond. */
    static final String ONE_PORT = "the rate of one of the ports of the bond";

    /** Ports, and what is known of each, by what is taken instead. */
    private final Map<String, List<String>> ports = new TreeMap<>();

    /** What is taken instead for a port of which nothing else is known, by the PCI address of its NIC. */
    static String instead(Optional<PciAddress> address) {
        return address.isPresent() ? PCIE : "an assumed rate";
    }

    /**
     * Notes a rate of 0 of a port that may be up; the rate of one that is down is not set.
     *
     * @param port name for people
     * @param file what should have had the rate
     * @param text what it has
     * @param instead what is taken
     */
    void check(String port, NicPort.State state, double rate, String file, String text, String instead) {
        if (rate <= 0 && state != NicPort.State.DOWN) {
            String found = text.isEmpty() ? " cannot be read" : " is " + Faults.quote(text);
            ports.computeIfAbsent(instead, any -> new ArrayList<>()).add(port + " (" + file + found + ")");
        }
    }

    /** Adds the warnings. */
    void finish(Topology.Builder builder) {
        ports.forEach((instead, names) -> builder.warn("rates are not known, so " + instead + " is used: ", names));
    }
}
