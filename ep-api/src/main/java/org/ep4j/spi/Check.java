package org.ep4j.spi;

/**
 * One finding of a probe.
 *
 * @param code stable name of the check, for example {@code EP-SHM-001}; documented, never reused
 * @param status how it went
 * @param detail what was found, with values
 * @param remedy what to do; empty when there is nothing to do
 */
public record Check(String code, Status status, String detail, String remedy) {
    /** Result of a check. */
    public enum Status {
        /** Fine. */
        PASS,
        /** Works, but slower or less safe than it could. */
        WARN,
        /** The backend cannot be used. */
        FAIL,
        /** Could not run. */
        NOT_RUN,
        /** Is about hardware that is not here: the backend cannot be used, and nothing is wrong. */
        NOT_APPLICABLE
    }

    /** A check that passed. */
    public static Check pass(String code, String detail) {
        return new Check(code, Status.PASS, detail, "");
    }

    /** A check that failed, with what to do about it. */
    public static Check fail(String code, String detail, String remedy) {
        return new Check(code, Status.FAIL, detail, remedy);
    }

    /**
     * A check that found that the backend is not made for this machine or device.
     *
     * @param remedy what to use instead; empty when there is nothing
     */
    public static Check notApplicable(String code, String detail, String remedy) {
        return new Check(code, Status.NOT_APPLICABLE, detail, remedy);
    }

    /** A check that found something to improve. */
    public static Check warn(String code, String detail, String remedy) {
        return new Check(code, Status.WARN, detail, remedy);
    }

    @Override
    public String toString() {
        return code + " " + status + ": " + detail + (remedy.isEmpty() ? "" : " (" + remedy + ")");
    }
}
