package org.ep4j.tck;

/** What came of a rule. */
public enum Outcome {
    /** It holds. */
    PASS,
    /** It does not hold, or the backend was required and is not available. */
    FAIL,
    /** The subject does not declare what the rule needs. */
    UNSUPPORTED,
    /** The rule is about something that this subject or mode does not have. */
    NOT_APPLICABLE,
    /** The probe failed: the machine lacks what the backend needs. */
    UNAVAILABLE,
    /** It could not be tested in this run; the reason says why. */
    UNTESTED
}
