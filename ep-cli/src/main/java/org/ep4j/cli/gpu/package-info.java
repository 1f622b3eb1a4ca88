/** What one rank of {@code ep bench} does on a GPU: operations, their ceilings, and how they are timed. */
@NullMarked
package org.ep4j.cli.gpu;

import org.jspecify.annotations.NullMarked;
