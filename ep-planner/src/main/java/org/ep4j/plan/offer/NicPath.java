package org.ep4j.plan.offer;

import org.ep4j.topology.NicReach;

/**
 * The path from a GPU (or the host device) to one port of a NIC.
 *
 * @param nic the NIC
 * @param port port of it
 * @param direct true when the NIC reads and writes the device's memory itself, false when bytes go through host memory
 */
public record NicPath(NicReach nic, NicReach.Port port, boolean direct) {
    /** Name of the port in offers and plans, written {@code name:port}. */
    public String name() {
        return nic.name() + ":" + port.number();
    }

    /** Returns true if neither the source nor the PCIe link gives the rate, so that a rate is assumed. */
    public boolean rateAssumed() {
        return !(port.gigabitsPerSecond() > 0) && !(nic.distance().gigabytesPerSecond() > 0);
    }

    /** Rate of the port in GB/s; if it is unknown, the bandwidth of the PCIe link, or else an assumed rate. */
    public double gigabytesPerSecond() {
        if (port.gigabitsPerSecond() > 0) {
            return port.gigabitsPerSecond() / 8;
        }
        double pci = nic.distance().gigabytesPerSecond();
        return pci > 0 ? pci : Estimates.UNKNOWN_NIC_GIGABITS / 8;
    }
}
