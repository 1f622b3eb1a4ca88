package org.ep4j.engine.membership;

/** Status of a rank in a membership: member, or the reason why it was left out. */
enum RankStatus {
    /** The rank is a member. */
    MEMBER,
    /** The rank's process has ended, as its released lock proves. */
    DEAD,
    /** The rank sent nothing for the heartbeat timeout. It may be alive. */
    SILENT,
    /** A queue pair or connection to the rank failed. The rank may be alive. */
    UNREACHABLE,
    /** The rank closed its group or its buffer. */
    LEFT,
    /** The caller masked the rank. */
    MASKED
}
