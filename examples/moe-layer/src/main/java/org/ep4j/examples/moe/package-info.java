/** A small mixture-of-experts layer over several ranks. */
@NullMarked
package org.ep4j.examples.moe;

import org.jspecify.annotations.NullMarked;
