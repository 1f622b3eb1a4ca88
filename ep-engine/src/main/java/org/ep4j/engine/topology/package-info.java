/** What the management libraries of GPU vendors know of the machine. */
@NullMarked
package org.ep4j.engine.topology;

import org.jspecify.annotations.NullMarked;
