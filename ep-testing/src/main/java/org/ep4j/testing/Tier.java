package org.ep4j.testing;

/** The amount of tests of a build: the tier "verify", which every change must pass, or "all". See docs/contributing/testing.md. */
public final class Tier {
    /** System property with the tier's name. */
    public static final String PROPERTY = "ep4j.test.tier";

    private Tier() {}

    /** Returns whether everything is tested: sizes that take long, and every case of a kind. */
    public static boolean all() {
        return "all".equals(System.getProperty(PROPERTY));
    }
}
