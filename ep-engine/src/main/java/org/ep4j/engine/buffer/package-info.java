/** What the buffers of all engines have in common: their checks of arguments, and all of a buffer that is no transport. */
@NullMarked
package org.ep4j.engine.buffer;

import org.jspecify.annotations.NullMarked;
