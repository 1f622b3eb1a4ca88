package org.ep4j.topology.model;

/**
 * A PCIe host bridge. Sources without host bridges link PCIe devices to the NUMA node.
 *
 * @param host index of its host
 * @param name such as {@code pci0000:40}
 */
public record HostBridge(int host, String name) implements Part {}
