/**
 * Members of a buffer: locks that show which processes live, and the agreement of the survivors of a failure on the next
 * membership. The move of the buffer that follows is in {@code sync}.
 */
@NullMarked
package org.ep4j.engine.membership;

import org.jspecify.annotations.NullMarked;
