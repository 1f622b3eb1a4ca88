package org.ep4j.topology.model;

/** A part of a machine: a node of the graph. */
public sealed interface Part permits NumaNode, HostBridge, PciSwitch, GpuSwitch, Gpu, Nic {
    /** Index of this part's host in {@link Topology#hosts()}. */
    int host();

    /** Name for people, unique among parts of its kind on its host. */
    String name();
}
