/**
 * Memory of GPUs that ranks map into each other's address space, without an engine above it: the first thing that a backend with
 * {@link org.ep4j.spi.MappedPeers} that allocates by itself can be tried with.
 */
@NullMarked
package org.ep4j.tck.mapped;

import org.jspecify.annotations.NullMarked;
