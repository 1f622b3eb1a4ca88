/** Joins groups: discovery, probing, planning, opening; devices of the host. */
@NullMarked
package org.ep4j.engine;

import org.jspecify.annotations.NullMarked;
