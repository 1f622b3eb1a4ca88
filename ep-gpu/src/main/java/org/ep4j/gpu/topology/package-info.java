/** Topology sources that ask the management libraries of GPU vendors: NVML and the HIP runtime. Found as services by the planner. */
@NullMarked
package org.ep4j.gpu.topology;

import org.jspecify.annotations.NullMarked;
