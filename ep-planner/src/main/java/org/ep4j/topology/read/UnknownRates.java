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
 * Ports whose rates cannot be read from {@code /sys}, or are no numbers there. Those for which the same is used instead
 * are named together, since machines have dozens of ports.
 */
final class UnknownRates {
    private static final String PCIE = "what the PCIe link allows (for EFA, the rate of the NIC's model)";

    static final String ONE_PORT = "the rate of one of the ports of the bond";

    /** Ports with what was read, by what is used instead. */
    private final Map<String, List<String>> ports = new TreeMap<>();

    /** Returns what is used instead for a port, by the PCI address of its NIC. */
    static String instead(Optional<PciAddress> address) {
        return address.isPresent() ? PCIE : "an assumed rate";
    }

    /**
     * Notes the {@code text} of a {@code file} that should have the rate of a port; the rate of one that is down is not
     * set.
     */
    void check(String name, NicPort port, String file, String text, String instead) {
        if (port.gigabitsPerSecond() <= 0 && port.state() != NicPort.State.DOWN) {
            String found = text.isEmpty() ? " cannot be read" : " is " + Faults.quote(text);
            ports.computeIfAbsent(instead, any -> new ArrayList<>()).add(name + " (" + file + found + ")");
        }
    }

    /** Adds the warnings. */
    void finish(Topology.Builder builder) {
        ports.forEach((instead, names) -> builder.warn("rates are not known, so " + instead + " is used: ", names));
    }
}
