/** Host memory by address, and what processes may do with it. */
@NullMarked
package org.ep4j.engine.memory;

import org.jspecify.annotations.NullMarked;
