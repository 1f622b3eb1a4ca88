/**
 * Figures from samples and their output as tables, JSON, plots and progress, for readers who change what a command prints or writes.
 * Nothing here measures.
 */
@NullMarked
package org.ep4j.cli.report;

import org.jspecify.annotations.NullMarked;
