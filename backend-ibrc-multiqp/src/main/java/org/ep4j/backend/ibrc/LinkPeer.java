package org.ep4j.backend.ibrc;

/**
 * The other end of a link.
 *
 * @param rank its number in the plan
 * @param index its place among the ranks of the backend
 * @param label its name for messages
 * @param start lane that is tried first as the home lane
 */
record LinkPeer(int rank, int index, String label, int start) {}
