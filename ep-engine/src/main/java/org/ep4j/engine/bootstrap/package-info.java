/** How ranks find each other: inside one process, or over TCP with the environment of torchrun. */
@NullMarked
package org.ep4j.engine.bootstrap;

import org.jspecify.annotations.NullMarked;
