/**
 * Rendezvous of ranks before any transport is open: inside one process, or over TCP with the environment of torchrun. For readers
 * of the protocol and its wire format; the contents of the gathers belong to their callers.
 */
@NullMarked
package org.ep4j.engine.bootstrap;

import org.jspecify.annotations.NullMarked;
