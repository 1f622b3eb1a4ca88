package org.ep4j.engine.membership;

/** Whether a rank is a member of an epoch, and if it is not, the reason why it was left out. */
enum Standing {
    /** The rank is a member. */
    MEMBER,
    /** The rank's process has ended, which the release of its lock proved. */
    DEAD,
    /** Nothing was heard of the rank for the heartbeat timeout. It may be alive. */
    SILENT,
    /** A queue pair or connection to the rank failed. The rank may be alive. */
    UNREACHABLE,
    /** The rank closed its group or its buffer. */
    LEFT,
    /** The caller masked the rank. */
    MASKED
}
