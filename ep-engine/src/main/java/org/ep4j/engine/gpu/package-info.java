/**
 * The engine for GPUs: the same layouts and results as the host engine, by kernels that are compiled at run time. For those
 * who change kernels or queue them; code of one vendor belongs behind {@link org.ep4j.gpu.driver.EngineGpu} or into the
 * dialect that the kernels begin with.
 */
@NullMarked
package org.ep4j.engine.gpu;

import org.jspecify.annotations.NullMarked;
