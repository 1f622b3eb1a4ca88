package org.ep4j.spi;

/** What a bootstrap knows about a member. */
public enum MemberState {
    /** Nothing else is known. */
    ALIVE,
    /** It closed its bootstrap in good order. */
    LEFT,
    /** Its process died or its connection broke. */
    LOST
}
