/**
 * For tools and the engine: makes a {@link org.ep4j.topology.model.Topology} from the running Linux, a recording of
 * {@code /sys} and {@code /proc}, or files of NCCL, hwloc, nvidia-smi, rocm-smi and ibv_devinfo ({@link Topologies}). A
 * vendor's library joins as a {@link TopologySource}. Untrusted input: all sizes are bounded ({@link Limits}).
 */
@NullMarked
package org.ep4j.topology.read;

import org.jspecify.annotations.NullMarked;
