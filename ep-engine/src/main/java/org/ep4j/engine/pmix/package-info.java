/** Start under launchers that speak PMIx (mpirun, srun). PMIx carries the address of rank 0 only; the rest is {@code bootstrap}. */
@NullMarked
package org.ep4j.engine.pmix;

import org.jspecify.annotations.NullMarked;
