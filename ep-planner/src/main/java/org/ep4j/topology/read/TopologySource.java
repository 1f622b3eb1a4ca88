package org.ep4j.topology.read;

import org.ep4j.topology.model.Topology;

/**
 * Source of facts about the running machine that are not in its files, such as a vendor's management library; found by
 * {@link java.util.ServiceLoader}. Used by {@link Topologies#live()}.
 */
public interface TopologySource {
    /** Name for messages; sources are asked in the order of their names. */
    String id();

    /**
     * Adds what this source knows to a topology. Never throws: on trouble it gives the topology back with a warning. A
     * library that is not there, where the machine has no device of its vendor, is no trouble.
     *
     * @param topology the running machine, as it is known so far
     */
    Topology refine(Topology topology);
}
