/** Exchanges under faults, every element compared: what {@code ep soak} runs. */
@NullMarked
package org.ep4j.cli.soak;

import org.jspecify.annotations.NullMarked;
