package org.ep4j.plan;

/**
 * Pairs of ranks whose paths are alike: the same backend, kind, estimates, lanes and reasons. Their NICs may differ.
 *
 * @param example one of the paths
 * @param pairs how many there are
 */
public record PairGroup(PairPath example, long pairs) {}
