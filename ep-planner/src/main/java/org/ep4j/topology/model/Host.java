package org.ep4j.topology.model;

/**
 * A host: what one operating system runs on.
 *
 * @param index number in the topology, from 0
 * @param name name, or the source's id of it; empty when unknown
 */
public record Host(int index, String name) {}
