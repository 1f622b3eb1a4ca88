/** Counted writes over libfabric, whose networks may deliver in any order. */
@NullMarked
package org.ep4j.backend.efa;

import org.jspecify.annotations.NullMarked;
