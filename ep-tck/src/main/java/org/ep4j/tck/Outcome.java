package org.ep4j.tck;

/** The outcome of a rule. */
public enum Outcome {
    /** The rule holds. */
    PASS,
    /** The rule does not hold, or the backend is required and not available. */
    FAIL,
    /** The subject does not declare what the rule needs. */
    UNSUPPORTED,
    /** The rule concerns something that this subject or mode does not have. */
    NOT_APPLICABLE,
    /** The probe failed: the machine lacks what the backend needs. */
    UNAVAILABLE,
    /** The rule could not be tested in this run; the reason says why. */
    UNTESTED
}
