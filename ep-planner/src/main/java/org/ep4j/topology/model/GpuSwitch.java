package org.ep4j.topology.model;

/**
 * A switch of several GPUs: the switches of one NVLink domain, merged into one; or the fabric inside an AMD package.
 * The partitions of a package share its fabric, and also its links to other packages.
 *
 * @param host index of the host that named it; in a domain of several hosts, the first
 * @param name such as {@code NVSwitch} or {@code package 0000:05:00.0}
 */
public record GpuSwitch(int host, String name) implements Part {}
