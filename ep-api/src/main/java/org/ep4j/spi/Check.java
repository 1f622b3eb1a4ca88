package org.ep4j.spi;

import java.util.Objects;
import org.apiguardian.api.API;

/** One finding of a probe. Immutable. */
@API(status = API.Status.STABLE, since = "0.1")
public final class Check {
    /** Result of a check. Constants may be added: keep a {@code default} where you switch over them. */
    @API(status = API.Status.STABLE, since = "0.1")
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

    private final String code;
    private final Status status;
    private final String detail;
    private final String remedy;

    private Check(String code, Status status, String detail, String remedy) {
        this.code = code;
        this.status = status;
        this.detail = detail;
        this.remedy = remedy;
    }

    /** A check that passed. */
    public static Check pass(String code, String detail) {
        return new Check(code, Status.PASS, detail, "");
    }

    /** A check that found something to improve, with what to do about it. */
    public static Check warn(String code, String detail, String remedy) {
        return new Check(code, Status.WARN, detail, remedy);
    }

    /** A check that failed, with what to do about it. */
    public static Check fail(String code, String detail, String remedy) {
        return new Check(code, Status.FAIL, detail, remedy);
    }

    /** A check that did not run, with the reason; there is nothing that makes it run. */
    public static Check notRun(String code, String reason) {
        return notRun(code, reason, "");
    }

    /** A check that did not run, with the reason and what makes it run. */
    public static Check notRun(String code, String reason, String remedy) {
        return new Check(code, Status.NOT_RUN, reason, remedy);
    }

    /**
     * A check that found that the backend is not made for this machine or device.
     *
     * @param remedy what to use instead; empty when there is nothing
     */
    public static Check notApplicable(String code, String detail, String remedy) {
        return new Check(code, Status.NOT_APPLICABLE, detail, remedy);
    }

    /** Stable name of the check, for example {@code EP-SHM-001}; documented, never reused. */
    public String code() {
        return code;
    }

    /** How it went. */
    public Status status() {
        return status;
    }

    /** What was found, with values. */
    public String detail() {
        return detail;
    }

    /** What to do; empty when there is nothing to do. */
    public String remedy() {
        return remedy;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Check that
                && code.equals(that.code)
                && status == that.status
                && detail.equals(that.detail)
                && remedy.equals(that.remedy);
    }

    @Override
    public int hashCode() {
        return Objects.hash(code, status, detail, remedy);
    }

    @Override
    public String toString() {
        return code + " " + status + ": " + detail + (remedy.isEmpty() ? "" : " (" + remedy + ")");
    }
}
