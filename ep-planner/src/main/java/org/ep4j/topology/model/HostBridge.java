package org.ep4j.topology.model;

/**
 * A PCIe host bridge. Sources that do not tell them apart have none, and PCIe devices hang on the NUMA node.
 *
 * @param host index of its host
 * @param name such as {@code pci0000:40}
 */
public record HostBridge(int host, String name) implements Part {
    @Override
    public String label() {
        return name;
    }
}
