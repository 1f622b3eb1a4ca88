/**
 * For tools and engines: computes the path of every pair of ranks from their profiles, by a pure function ({@link
 * Planner}); the plan with all that planning knows ({@link GroupPlan}); profiles and other records as the bytes that ranks
 * exchange ({@link ProfileCodec}, {@link RecordCodec}); checks of settings; and the files of settings that {@code ./ep tune} has
 * measured ({@link TunedSettings}). Nothing here probes or opens a backend: offers come from the caller ({@link
 * Planner.Candidate}).
 */
@NullMarked
package org.ep4j.plan;

import org.jspecify.annotations.NullMarked;
