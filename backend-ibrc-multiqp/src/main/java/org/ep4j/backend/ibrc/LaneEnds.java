package org.ep4j.backend.ibrc;

/**
 * Both ends of a queue pair.
 *
 * @param qp this rank's, as requests name it
 * @param port index of this rank's port
 * @param remotePort index of the peer's port among the peer's
 * @param depth requests that it holds
 * @param receives receives that are kept posted; 0 where none are needed
 * @param inline bytes that travel inside a request
 * @param maxMessage bytes of a message at most
 * @param name both ports, for messages
 * @param nic this rank's port
 */
record LaneEnds(
        long qp,
        int port,
        int remotePort,
        int depth,
        int receives,
        int inline,
        long maxMessage,
        String name,
        String nic) {}
