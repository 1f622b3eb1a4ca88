/**
 * The host engine: dispatch and combine of both modes on CPU threads, over mapped and posted paths. For readers of one operation,
 * step by step.
 */
@NullMarked
package org.ep4j.engine.host;

import org.jspecify.annotations.NullMarked;
