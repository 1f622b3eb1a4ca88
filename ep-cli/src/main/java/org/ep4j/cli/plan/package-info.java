/**
 * Plans for machines that exist only as a description, for readers who change {@code ep plan}: simulated ranks, the report and its
 * text. The planner and the forecasts are in {@code org.ep4j.plan}.
 */
@NullMarked
package org.ep4j.cli.plan;

import org.jspecify.annotations.NullMarked;
