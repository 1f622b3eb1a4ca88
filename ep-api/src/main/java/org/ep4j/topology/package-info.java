/**
 * For authors of backends, in {@code offer} and {@code describe}: the machine around one device, as plain values:
 * reachable GPUs, NICs with their ports, and how near they are. No algorithms and no readers: these are in ep-planner
 * ({@code org.ep4j.topology.model} and {@code org.ep4j.topology.read}).
 */
@API(status = API.Status.STABLE, since = "0.1")
@NullMarked
package org.ep4j.topology;

import org.apiguardian.api.API;
import org.jspecify.annotations.NullMarked;
