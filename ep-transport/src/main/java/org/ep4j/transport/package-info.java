/**
 * Parts that backends are built of, for authors of backends: steps of opening that succeed or fail on all ranks together, buffers of mapped
 * memory, lists of open buffers, threads that end, reports of traffic, deadlines, and the folder of caches. Code for one kind of NIC or
 * GPU belongs to the backend or to ep-gpu; code that runs operations belongs to the engine.
 */
@NullMarked
package org.ep4j.transport;

import org.jspecify.annotations.NullMarked;
