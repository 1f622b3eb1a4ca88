/** Host memory by address. */
@NullMarked
package org.ep4j.engine.memory;

import org.jspecify.annotations.NullMarked;
