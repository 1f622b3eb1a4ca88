/** Offsets and sizes of all memory of a buffer, computed once and shared by the engines and the kernels. No memory is accessed here. */
@NullMarked
package org.ep4j.engine.layout;

import org.jspecify.annotations.NullMarked;
