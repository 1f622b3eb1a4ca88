/** What the engines of all devices share: counters of peers, waits with deadlines, masks, recovery. */
@NullMarked
package org.ep4j.engine.sync;

import org.jspecify.annotations.NullMarked;
