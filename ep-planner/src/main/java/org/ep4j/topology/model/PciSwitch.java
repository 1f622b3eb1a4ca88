package org.ep4j.topology.model;

/**
 * A PCIe switch, counted once (its upstream port stands for it).
 *
 * @param host index of its host
 * @param address of the upstream port
 * @param id its PCI ids
 */
public record PciSwitch(int host, PciAddress address, PciId id) implements Part {
    @Override
    public String name() {
        return address.toString();
    }
}
