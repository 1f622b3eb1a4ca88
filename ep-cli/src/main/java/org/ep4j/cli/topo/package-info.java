/** A machine for people and tools: as a tree, matrices, JSON and a drawing. */
@NullMarked
package org.ep4j.cli.topo;

import org.jspecify.annotations.NullMarked;
