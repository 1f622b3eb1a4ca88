/**
 * Copies, sums and casts of rows in native code, and the choice of the instructions. Their counterparts in Java are in
 * {@code numeric}.
 */
@NullMarked
package org.ep4j.engine.rows;

import org.jspecify.annotations.NullMarked;
