/** Readers of machines: the running Linux, recorded trees of it, and files that other tools write. */
@NullMarked
package org.ep4j.topology.read;

import org.jspecify.annotations.NullMarked;
