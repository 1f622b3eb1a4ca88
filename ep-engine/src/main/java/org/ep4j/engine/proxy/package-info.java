/**
 * Rings in pinned host memory through which a GPU hands over commands, and the proxy threads that take them. For the GPU
 * engine and for those who work on the rings; code that executes commands, and knows peers and NICs, belongs to {@code gpu}.
 */
@NullMarked
package org.ep4j.engine.proxy;

import org.jspecify.annotations.NullMarked;
