/** A backend whose ranks post to each other, and tests of the engine and the kit on it. */
@NullMarked
package org.ep4j.tck.posted;

import org.jspecify.annotations.NullMarked;
