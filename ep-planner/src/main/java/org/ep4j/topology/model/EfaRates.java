package org.ep4j.topology.model;

/**
 * Rates of AWS's Elastic Fabric Adapters, which few sources tell, by PCI device id: the network bandwidth of an instance over
 * its number of adapters, as the EC2 documentation gives them (p4d 400 Gb/s over 4, p5 3200 over 32, p5en 3200 over 16,
 * p6-b200 3200 over 8).
 */
final class EfaRates {
    private EfaRates() {}

    /** Gigabits a second; 0 when the id is not known here. */
    static double gigabits(PciId id) {
        return switch (id.device()) {
            case 0xefa0, 0xefa1 -> 100;
            case 0xefa2 -> 200;
            case 0xefa3 -> 400;
            default -> 0;
        };
    }
}
