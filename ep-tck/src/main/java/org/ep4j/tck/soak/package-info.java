/** Long runs with injected faults: what an operator runs before trusting a machine. */
@NullMarked
package org.ep4j.tck.soak;

import org.jspecify.annotations.NullMarked;
