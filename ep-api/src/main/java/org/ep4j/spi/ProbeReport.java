package org.ep4j.spi;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Findings of a backend on this machine, for this rank alone. Immutable. */
public sealed interface ProbeReport {
    /** Name of the fact that says in which folder of the host the backend puts files that ranks share; may be missing. */
    String FOLDER = "folder";

    /**
     * Name of the fact that briefly describes, for people, how a usable backend exchanges data, such as
     * {@code TCP by libfabric 1.17}; may be missing, and is not sent to other ranks.
     */
    String SUMMARY = "summary";

    /** Name of the fact that describes, for people, how the ranks on a device copy and sum rows; may be missing. */
    String ROWS = "rows";

    /** Starts a report; it needs one check at least. */
    static Builder builder() {
        return new Builder();
    }

    /** Returns true if the backend can be used: no check failed, and all apply. */
    default boolean usable() {
        return failures().isEmpty();
    }

    /** Every check that was made, in the order in which they were added; at least one. */
    List<Check> checks();

    /** Checks that make the backend unusable: checks that failed, and checks that found it not applicable. */
    default List<Check> failures() {
        return checks().stream()
                .filter(check -> check.status() == Check.Status.FAIL || check.status() == Check.Status.NOT_APPLICABLE)
                .toList();
    }

    /** The check that found that the backend is not made for this machine or device, if there is one. */
    default Optional<Check> notApplicable() {
        return checks().stream()
                .filter(check -> check.status() == Check.Status.NOT_APPLICABLE)
                .findFirst();
    }

    /**
     * Facts about this rank that {@link EpBackendProvider#offer} needs, as plain text; sent to every rank. In the order of
     * the names, so that all ranks see the same bytes.
     */
    Map<String, String> facts();

    /**
     * Facts that {@link EpBackendProvider#offer} only compares for equality between two ranks, such as ids of machines and
     * folders; planning asks once for all pairs of ranks that differ in nothing else. In the order of the names.
     */
    Map<String, String> identity();

    /** Collects what a probe finds. Not safe for use from several threads. */
    final class Builder {
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
         * Builds the report.
         *
         * @throws IllegalArgumentException when it has no check
         */
        public ProbeReport build() {
            if (checks.isEmpty()) {
                throw new IllegalArgumentException("a probe report needs at least one check");
            }
            return new ProbeReportValue(
                    List.copyOf(checks),
                    Collections.unmodifiableMap(new TreeMap<>(facts)),
                    Collections.unmodifiableMap(new TreeMap<>(identity)));
        }
    }
}

record ProbeReportValue(List<Check> checks, Map<String, String> facts, Map<String, String> identity)
        implements ProbeReport {
    @Override
    public String toString() {
        return checks + ", facts " + facts + ", identity " + identity;
    }
}
