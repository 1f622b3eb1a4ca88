package org.ep4j.engine.membership;

/**
 * State of an acceptor that has to outlive its process, and to be stored before a message that depends on it is sent: other ranks on
 * the host read it once the process has ended.
 *
 * @param membership the newest membership that the rank knows
 * @param promised the highest ballot that the rank has promised or accepted in this epoch; it answers no lower one
 * @param accepted the newest vote that the rank has accepted in this epoch
 */
record AcceptorRecord(Membership membership, long promised, Vote accepted) {}
