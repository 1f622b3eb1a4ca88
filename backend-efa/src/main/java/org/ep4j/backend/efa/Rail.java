package org.ep4j.backend.efa;

/**
 * A NIC of this rank and one of the peer, between which a link writes.
 *
 * @param index of it on its link
 * @param name of both, for messages
 * @param nic of this rank
 * @param place of this rank's keys for it
 * @param peerPlace of the peer's keys for it
 * @param longest bytes of a write
 * @param flow what is under way
 * @param traffic what it has carried
 */
record Rail(
        int index,
        String name,
        String nic,
        int place,
        int peerPlace,
        long longest,
        RailFlow flow,
        RailTraffic traffic) {}
