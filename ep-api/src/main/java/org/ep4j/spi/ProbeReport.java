package org.ep4j.spi;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a backend found on this machine, for this rank alone.
 *
 * @param checks every check that was made; at least one
 * @param facts what {@link EpBackendProvider#offer} needs to know about this rank, as plain text; sent to every rank
 * @param identity facts that {@link EpBackendProvider#offer} only compares for equality between two ranks, such as ids of
 *     machines and folders; planning asks once for all pairs of ranks that differ in nothing else
 */
public record ProbeReport(List<Check> checks, Map<String, String> facts, Map<String, String> identity) {
    /** Name of the fact that says in which folder of the host the backend puts files that ranks share; may be missing. */
    public static final String FOLDER = "folder";

    /**
     * Name of the fact that briefly describes, for people, how a usable backend exchanges data, such as
     * {@code TCP by libfabric 1.17}; may be missing, and is not sent to other ranks.
     */
    public static final String SUMMARY = "summary";

    /** Name of the fact that describes, for people, how the ranks on a device copy and sum rows; may be missing. */
    public static final String ROWS = "rows";

    /** Creates a report without identity facts. */
    public ProbeReport(List<Check> checks, Map<String, String> facts) {
        this(checks, facts, Map.of());
    }

    /** Copies all; the facts are kept in key order, so that all ranks see the same bytes. */
    public ProbeReport {
        checks = List.copyOf(checks);
        if (checks.isEmpty()) {
            throw new IllegalArgumentException("a probe report needs at least one check");
        }
        facts = java.util.Collections.unmodifiableMap(new TreeMap<>(facts));
        identity = java.util.Collections.unmodifiableMap(new TreeMap<>(identity));
    }

    /** Returns true if the backend can be used: no check failed, and all apply. */
    public boolean usable() {
        return failures().isEmpty();
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
}
