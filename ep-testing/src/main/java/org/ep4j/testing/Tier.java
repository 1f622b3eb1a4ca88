package org.ep4j.testing;

/** How much a build tests: the tier "verify", which every change must pass, or "all". docs/contributing/testing.md has the table. */
public final class Tier {
    /** System property with the tier's name. */
    public static final String PROPERTY = "ep4j.test.tier";

    private Tier() {}

    /** True where everything is tested: sizes that take long, and every case of a kind. */
    public static boolean all() {
        return "all".equals(System.getProperty(PROPERTY));
    }
}
