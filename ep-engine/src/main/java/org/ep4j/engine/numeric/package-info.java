/** Number formats: BF16, FP8 E4M3, LogFMT-10. */
@NullMarked
package org.ep4j.engine.numeric;

import org.jspecify.annotations.NullMarked;
