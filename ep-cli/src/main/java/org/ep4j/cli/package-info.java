/** The {@code ep} command: its subcommands, their options and exit codes. The only part of ep4j that prints. */
@NullMarked
package org.ep4j.cli;

import org.jspecify.annotations.NullMarked;
