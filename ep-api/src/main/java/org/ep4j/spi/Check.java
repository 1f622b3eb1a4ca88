package org.ep4j.spi;

/** One finding of a probe. Immutable. */
public sealed interface Check {
    /** Result of a check. Constants may be added: keep a {@code default} where you switch over them. */
    enum Status {
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
    static Check pass(String code, String detail) {
        return new CheckValue(code, Status.PASS, detail, "");
    }

    /** A check that found something to improve, with what to do about it. */
    static Check warn(String code, String detail, String remedy) {
        return new CheckValue(code, Status.WARN, detail, remedy);
    }

    /** A check that failed, with what to do about it. */
    static Check fail(String code, String detail, String remedy) {
        return new CheckValue(code, Status.FAIL, detail, remedy);
    }

    /** A check that did not run, with the reason; there is nothing that makes it run. */
    static Check notRun(String code, String reason) {
        return notRun(code, reason, "");
    }

    /** A check that did not run, with the reason and what makes it run. */
    static Check notRun(String code, String reason, String remedy) {
        return new CheckValue(code, Status.NOT_RUN, reason, remedy);
    }

    /**
     * A check that found that the backend is not made for this machine or device.
     *
     * @param remedy what to use instead; empty when there is nothing
     */
    static Check notApplicable(String code, String detail, String remedy) {
        return new CheckValue(code, Status.NOT_APPLICABLE, detail, remedy);
    }

    /** Stable name of the check, for example {@code EP-SHM-001}; documented, never reused. */
    String code();

    /** Result of the check. */
    Status status();

    /** Finding, with values. */
    String detail();

    /** Remedy; empty when there is nothing to do. */
    String remedy();
}

record CheckValue(String code, Status status, String detail, String remedy) implements Check {
    @Override
    public String toString() {
        return code + " " + status + ": " + detail + (remedy.isEmpty() ? "" : " (" + remedy + ")");
    }
}
