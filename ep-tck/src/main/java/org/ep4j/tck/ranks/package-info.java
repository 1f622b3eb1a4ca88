/**
 * For authors of scenarios, and for the rest of the kit: runs a scenario on ranks that are threads of this JVM, processes of this
 * machine, or processes that a launcher started. Rules and comparisons do not belong here.
 */
@NullMarked
package org.ep4j.tck.ranks;

import org.jspecify.annotations.NullMarked;
