/**
 * The {@code ep} command, for readers who change a command, an option or an exit code: the subcommands, the ranks that they start or
 * were launched as, and the only code of ep4j that prints. Measurements, plans, drawings and reports are in the packages below.
 */
@NullMarked
package org.ep4j.cli;

import org.jspecify.annotations.NullMarked;
