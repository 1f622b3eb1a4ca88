/**
 * For authors of backends with {@link org.ep4j.spi.MappedPeers} that allocate memory of GPUs: memory that ranks map into each other's
 * address space, as a first test without an engine. Operations of the engine do not belong here.
 */
@NullMarked
package org.ep4j.tck.mapped;

import org.jspecify.annotations.NullMarked;
