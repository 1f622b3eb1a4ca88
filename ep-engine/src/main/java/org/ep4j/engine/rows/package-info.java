/** Copies, sums and casts of rows in native code, and how it is chosen. */
@NullMarked
package org.ep4j.engine.rows;

import org.jspecify.annotations.NullMarked;
