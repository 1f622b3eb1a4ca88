/**
 * State that the engines of all devices share while operations run: counters of peers, waits with deadlines, masks, relays,
 * recovery. Nothing here knows rows.
 */
@NullMarked
package org.ep4j.engine.sync;

import org.jspecify.annotations.NullMarked;
