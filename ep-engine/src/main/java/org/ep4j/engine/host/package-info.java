/** The host engine: both modes over mapped paths, in Java. */
@NullMarked
package org.ep4j.engine.host;

import org.jspecify.annotations.NullMarked;
