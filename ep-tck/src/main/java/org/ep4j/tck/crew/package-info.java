/** Runs scenarios on ranks that are threads of this JVM or processes of their own. */
@NullMarked
package org.ep4j.tck.crew;

import org.jspecify.annotations.NullMarked;
