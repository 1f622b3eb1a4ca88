package org.ep4j.plan;

/** How one rank reaches another. */
public enum PathKind {
    /** The rank itself. */
    LOCAL,
    /** Plain loads and stores into the peer's memory. */
    MAPPED,
    /** The GPU posts to the NIC. */
    DEVICE_POSTED,
    /** A host thread posts to the NIC. */
    HOST_POSTED
}
