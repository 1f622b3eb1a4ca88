/** Figures from samples, and how they are shown: tables, JSON, plots, progress. */
@NullMarked
package org.ep4j.cli.report;

import org.jspecify.annotations.NullMarked;
