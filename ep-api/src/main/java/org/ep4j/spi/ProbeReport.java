package org.ep4j.spi;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.apiguardian.api.API;

/** What a backend found on this machine, for this rank alone. Immutable. */
@API(status = API.Status.STABLE, since = "0.1")
public final class ProbeReport {
    /** Name of the fact that says in which folder of the host the backend puts files that ranks share; may be missing. */
    public static final String FOLDER = "folder";

    /**
     * Name of the fact that briefly describes, for people, how a usable backend exchanges data, such as
     * {@code TCP by libfabric 1.17}; may be missing, and is not sent to other ranks.
     */
    public static final String SUMMARY = "summary";

    /** Name of the fact that describes, for people, how the ranks on a device copy and sum rows; may be missing. */
    public static final String ROWS = "rows";

    private final List<Check> checks;
    private final Map<String, String> facts;
    private final Map<String, String> identity;

    private ProbeReport(Builder builder) {
        this.checks = List.copyOf(builder.checks);
        this.facts = Collections.unmodifiableMap(new TreeMap<>(builder.facts));
        this.identity = Collections.unmodifiableMap(new TreeMap<>(builder.identity));
    }

    /** Starts a report; it needs one check at least. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns true if the backend can be used: no check failed, and all apply. */
    public boolean usable() {
        return failures().isEmpty();
    }

    /** Every check that was made, in the order in which they were added; at least one. */
    public List<Check> checks() {
        return checks;
    }

    /** Checks that make the backend unusable: checks that failed, and checks that found it not applicable. */
    public List<Check> failures() {
        return checks.stream()
                .filter(check -> check.status() == Check.Status.FAIL || check.status() == Check.Status.NOT_APPLICABLE)
                .toList();
    }

    /** The check that found that the backend is not made for this machine or device, if there is one. */
    public Optional<Check> notApplicable() {
        return checks.stream()
                .filter(check -> check.status() == Check.Status.NOT_APPLICABLE)
                .findFirst();
    }

    /**
     * What {@link EpBackendProvider#offer} needs to know about this rank, as plain text; sent to every rank. In the order of
     * the names, so that all ranks see the same bytes.
     */
    public Map<String, String> facts() {
        return facts;
    }

    /**
     * Facts that {@link EpBackendProvider#offer} only compares for equality between two ranks, such as ids of machines and
     * folders; planning asks once for all pairs of ranks that differ in nothing else. In the order of the names.
     */
    public Map<String, String> identity() {
        return identity;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ProbeReport that
                && checks.equals(that.checks)
                && facts.equals(that.facts)
                && identity.equals(that.identity);
    }

    @Override
    public int hashCode() {
        return Objects.hash(checks, facts, identity);
    }

    /** The checks, facts and identity, for people. */
    @Override
    public String toString() {
        return checks + ", facts " + facts + ", identity " + identity;
    }

    /** Collects what a probe finds. Not safe for use from several threads. */
    @API(status = API.Status.STABLE, since = "0.1")
    public static final class Builder {
        private final List<Check> checks = new ArrayList<>();
        private final Map<String, String> facts = new TreeMap<>();
        private final Map<String, String> identity = new TreeMap<>();

        private Builder() {}

        /** Adds a check. */
        public Builder check(Check check) {
            checks.add(check);
            return this;
        }

        /** Adds a fact for {@link ProbeReport#facts()}; the last value of a name counts. */
        public Builder fact(String name, String value) {
            facts.put(name, value);
            return this;
        }

        /** Adds a fact for {@link ProbeReport#identity()}; the last value of a name counts. */
        public Builder identity(String name, String value) {
            identity.put(name, value);
            return this;
        }

        /**
         * The finished report.
         *
         * @throws IllegalArgumentException when it has no check
         */
        public ProbeReport build() {
            if (checks.isEmpty()) {
                throw new IllegalArgumentException("a probe report needs at least one check");
            }
            return new ProbeReport(this);
        }
    }
}
