/** Starting under launchers that speak PMIx: mpirun and srun. */
@NullMarked
package org.ep4j.engine.pmix;

import org.jspecify.annotations.NullMarked;
