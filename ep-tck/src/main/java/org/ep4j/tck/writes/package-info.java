/**
 * Counted writes between two ranks of one backend, without an engine above it: the first thing that a backend with
 * {@link org.ep4j.spi.HostPosted} can be tried with.
 */
@NullMarked
package org.ep4j.tck.writes;

import org.jspecify.annotations.NullMarked;
