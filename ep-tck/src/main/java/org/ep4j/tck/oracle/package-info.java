/**
 * An independent reference for every exchange: plain loops over heap arrays, no engine class. Inputs are generated from a
 * seed, so every rank can compute what any other rank sent, and expected rows are compared one at a time.
 */
@NullMarked
package org.ep4j.tck.oracle;

import org.jspecify.annotations.NullMarked;
