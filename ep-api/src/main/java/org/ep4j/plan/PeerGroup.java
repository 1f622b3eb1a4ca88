package org.ep4j.plan;

/**
 * Peers of one rank whose pairs with it are of one {@link EpPlan#kind kind} in each direction.
 *
 * @param example one of them
 * @param peers how many there are
 */
public record PeerGroup(int example, int peers) {}
