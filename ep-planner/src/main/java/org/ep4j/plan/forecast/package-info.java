/**
 * For people who size machines and tools that report on plans: estimates of how long a dispatch or combine takes on a
 * plan ({@link Forecast}, microseconds), and of the memory, lanes and threads it needs ({@link Sizing}). Nothing here
 * is measured, and no operation uses it.
 */
@NullMarked
package org.ep4j.plan.forecast;

import org.jspecify.annotations.NullMarked;
