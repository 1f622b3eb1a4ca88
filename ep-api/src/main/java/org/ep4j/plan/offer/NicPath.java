package org.ep4j.plan.offer;

import org.ep4j.topology.NicReach;

/**
 * A NIC port as one device reaches it.
 *
 * @param nic the NIC
 * @param port port of it
 * @param direct true when the NIC reads and writes the device's memory itself, false when bytes go through host memory
 */
public record NicPath(NicReach nic, NicReach.Port port, boolean direct) {
    /** {@code name:port}, as offers and plans name it. */
    public String name() {
        return nic.name() + ":" + port.number();
    }

    /** True when neither the source nor the PCIe link tells the rate, and one is assumed. */
    public boolean rateAssumed() {
        return !(port.gigabitsPerSecond() > 0) && !(nic.distance().gigabytesPerSecond() > 0);
    }

    /** Its rate, or what its PCIe link allows where the rate is unknown; GB/s. */
    public double gigabytesPerSecond() {
        if (port.gigabitsPerSecond() > 0) {
            return port.gigabitsPerSecond() / 8;
        }
        double pci = nic.distance().gigabytesPerSecond();
        return pci > 0 ? pci : Estimates.UNKNOWN_NIC_GIGABITS / 8;
    }
}
