/**
 * For authors of backends with {@link org.ep4j.spi.HostPosted}: counted writes between two ranks, as a first test without an engine.
 * Operations of the engine do not belong here.
 */
@NullMarked
package org.ep4j.tck.writes;

import org.jspecify.annotations.NullMarked;
