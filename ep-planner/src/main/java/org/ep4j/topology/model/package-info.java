/**
 * For readers of topologies, tools and backends: whole machines as a graph ({@link Topology}: GPUs, NICs, switches,
 * NUMA nodes, links), and what is computed from it: distances, localities, GIDs to send from. Plain values for offers
 * are in {@code org.ep4j.topology}.
 */
@NullMarked
package org.ep4j.topology.model;

import org.jspecify.annotations.NullMarked;
