/**
 * For authors of tests in all modules: properties for JUnit, which run many times, each time with other arguments, and guards against tests
 * that hang. Helpers for a single module belong to its own tests.
 *
 * <pre>{@code
 * @Property(tries = 200)
 * void aSliceIsInside(@ForAll @IntRange(max = 100) int offset, @ForAll("sizes") long bytes) { ... }
 *
 * static long sizes(Random random) {
 *     return 16 * Draw.aLong(random, 0, 1000);
 * }
 * }</pre>
 *
 * A property without a {@code @ForAll} parameter runs once. The arguments of a build are always the same: they are drawn from a seed
 * that is made of the names of class and method. A failure names the seed and the arguments. On the command line,
 *
 * <ul>
 *   <li>{@code -Dep4j.test.seed=NUMBER} takes another seed, so it repeats a failure;
 *   <li>{@code -Dep4j.test.seed=random} draws the seeds from the clock, to look for failures that no build has seen;
 *   <li>{@code -Dep4j.test.tier=all} runs all tries of properties that otherwise run some of them ({@link Property#verify});
 *   <li>{@code -Dep4j.test.tries=NUMBER} runs as many tries of every property.
 * </ul>
 */
@NullMarked
package org.ep4j.testing;

import org.jspecify.annotations.NullMarked;
