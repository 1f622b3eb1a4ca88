package org.ep4j.engine.gpu;

/**
 * What kernels and launches are fitted to.
 *
 * @param architecture as compilers name it: {@code sm_90}, {@code gfx942}
 * @param processors streaming multiprocessors, or compute units
 * @param sharedBytes most shared memory of a block, static and dynamic together
 * @param lanes threads that run in step
 * @param bulk true where rows move by bulk copies ({@code EP_BULK} of the dialect)
 */
public record GpuFacts(String architecture, int processors, int sharedBytes, int lanes, boolean bulk) {}
