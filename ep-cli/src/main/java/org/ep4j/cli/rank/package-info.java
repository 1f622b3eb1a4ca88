/**
 * Work of one rank process of {@code ep demo}, {@code ep bench} and {@code ep writes} on the host, and the messages in which it
 * reports, for readers who change what is measured. Processes are started in the package above, figures are made in {@code report}.
 */
@NullMarked
package org.ep4j.cli.rank;

import org.jspecify.annotations.NullMarked;
