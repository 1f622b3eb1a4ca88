package org.ep4j.topology;

/**
 * Kinds of link between two neighbouring parts of a machine. Constants may be added: keep a {@code default} where you switch
 * over them.
 */
public enum LinkType {
    /** PCI Express. */
    PCI,
    /** From a host bridge to its NUMA node. */
    ROOT,
    /** NVIDIA's GPU link, to another GPU, to an NVSwitch, or to a POWER processor. */
    NVLINK,
    /** AMD's GPU link. */
    XGMI,
    /** A coherent chip link between GPU and processor. */
    C2C,
    /** Between processors (NUMA nodes) of one host. */
    CPU
}
