/** A backend for tests, whose ranks post to each other, and the kit run on it. */
@NullMarked
package org.ep4j.tck.posted;

import org.jspecify.annotations.NullMarked;
