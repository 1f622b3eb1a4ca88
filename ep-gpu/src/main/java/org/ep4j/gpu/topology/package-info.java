/**
 * Topology sources that ask libraries of GPU vendors, NVML and the HIP runtime, found as services by the planner. For those who
 * work on topology; nothing here opens a GPU for operations.
 */
@NullMarked
package org.ep4j.gpu.topology;

import org.jspecify.annotations.NullMarked;
