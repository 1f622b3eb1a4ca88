/**
 * The engine for GPUs: the same layouts and results as the host engine, by kernels that are compiled at run time. What is
 * particular to one vendor is behind {@link org.ep4j.gpu.driver.EngineGpu} and the dialect that the kernels begin with.
 */
@NullMarked
package org.ep4j.engine.gpu;

import org.jspecify.annotations.NullMarked;
