package org.ep4j.backend.efa;

/**
 * The other end of a link.
 *
 * @param rank its number in the plan
 * @param index its place among the ranks of the backend
 * @param label its name for messages
 */
record LinkPeer(int rank, int index, String label) {}
