/**
 * For the kit's rules and the command line: an independent reference for every exchange, of plain loops over heap arrays. Inputs are
 * generated from a seed, so every rank can compute what any other rank sent. No class of the engine belongs here, nor anything that the
 * engine uses.
 */
@NullMarked
package org.ep4j.tck.oracle;

import org.jspecify.annotations.NullMarked;
