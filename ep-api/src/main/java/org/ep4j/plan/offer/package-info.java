/** What links between GPUs and NICs carry, for backends to answer {@code offer} with. */
@NullMarked
package org.ep4j.plan.offer;

import org.jspecify.annotations.NullMarked;
