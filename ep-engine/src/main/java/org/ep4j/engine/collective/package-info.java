/** What backends need to act together: steps that succeed or fail on all ranks. */
@NullMarked
package org.ep4j.engine.collective;

import org.jspecify.annotations.NullMarked;
