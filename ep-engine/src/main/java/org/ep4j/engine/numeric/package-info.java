/** Number formats of the host engine (BF16, FP8 E4M3, LogFMT-10), and sums and casts in Java. Native loops are in {@code rows}. */
@NullMarked
package org.ep4j.engine.numeric;

import org.jspecify.annotations.NullMarked;
