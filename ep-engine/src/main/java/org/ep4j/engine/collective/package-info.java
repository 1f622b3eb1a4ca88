/**
 * What backends share: steps that succeed or fail on all ranks, and the frame around buffers, peers, threads and traffic; and
 * deadlines of all waits.
 */
@NullMarked
package org.ep4j.engine.collective;

import org.jspecify.annotations.NullMarked;
