/** Proof of death inside a host: a lock that each rank holds for as long as it is in the group. */
@NullMarked
package org.ep4j.engine.life;

import org.jspecify.annotations.NullMarked;
