/**
 * A machine as a tree, matrices, JSON and a drawing, and the reader of packed recordings, for readers who change {@code ep topo}.
 * The readers of all other descriptions are in {@code org.ep4j.topology.read}.
 */
@NullMarked
package org.ep4j.cli.topo;

import org.jspecify.annotations.NullMarked;
