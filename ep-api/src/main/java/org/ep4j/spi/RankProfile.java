package org.ep4j.spi;

import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apiguardian.api.API;
import org.ep4j.Device;
import org.ep4j.topology.Locality;

/** Report of one rank about itself; the input of planning. Immutable. */
public sealed interface RankProfile {
    /**
     * Starts the profile of a rank whose machine is not known.
     *
     * @param rank number in the group
     * @param hostId equal for ranks that share one operating system, different otherwise
     * @param device device of the rank
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    static Builder builder(int rank, String hostId, Device device) {
        return new Builder(rank, hostId, device);
    }

    /** Returns a builder that starts with this profile. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    default Builder toBuilder() {
        Builder builder = new Builder(rank(), hostId(), device());
        builder.hostName = hostName();
        builder.pid = pid();
        builder.locality = locality();
        builder.domain = domain();
        builder.backends = backends();
        builder.settings = settings();
        return builder;
    }

    /** Number in the group. */
    int rank();

    /** Id of the host: equal for ranks that share one operating system, different otherwise. */
    String hostId();

    /** Name of the machine, for messages. */
    String hostName();

    /** Process id on its host. */
    long pid();

    /** Device of the rank. */
    Device device();

    /** The machine around the device. */
    Locality locality();

    /** NVLink domain beyond the host, {@code cluster-uuid/clique-id}; empty when there is none. */
    String domain();

    /** Findings of each backend's probe, by backend id, in the order of the ids. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    Map<String, BackendProfile> backends();

    /** Findings of one backend's probe; empty when this rank does not have the backend. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    default Optional<BackendProfile> backend(String id) {
        return Optional.ofNullable(backends().get(id));
    }

    /** The facts of one backend; empty when this rank does not have it. */
    default Map<String, String> facts(String backend) {
        return backend(backend).map(BackendProfile::facts).orElse(Map.of());
    }

    /** Facts of one backend that planning only compares between ranks; empty if this rank does not have the backend. */
    default Map<String, String> identity(String backend) {
        return backend(backend).map(BackendProfile::identity).orElse(Map.of());
    }

    /**
     * Values of settings, by key: settings that all ranks must share, and settings that planning applies to this rank (the
     * NICs that it may use, and the limits of what is in flight on them).
     */
    Map<String, String> settings();

    /** Name for messages, for example {@code rank 3 (host-a, pid 4711, host:0)}. */
    default String label() {
        return "rank " + rank() + " (" + hostName() + ", pid " + pid() + ", " + device() + ")";
    }

    private static <V> Map<String, V> sorted(Map<String, V> map) {
        return Collections.unmodifiableMap(new TreeMap<>(map));
    }

    /** Findings of one rank about one backend. Immutable. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    sealed interface BackendProfile {
        /** Returns a profile with the findings of a probe or of a description. */
        static BackendProfile of(ProbeReport report) {
            Map<String, String> facts = new TreeMap<>(report.facts());
            facts.remove(ProbeReport.SUMMARY);
            BackendProfile found = of(facts, report.identity());
            String why = report.failures().stream().map(Object::toString).collect(Collectors.joining("; "));
            return report.usable()
                    ? found
                    : found.unusable(why, report.notApplicable().isPresent());
        }

        /**
         * A profile of a backend that can be used.
         *
         * @param facts what {@link EpBackendProvider#offer} needs
         * @param identity what it only compares between two ranks
         */
        static BackendProfile of(Map<String, String> facts, Map<String, String> identity) {
            return new BackendProfileValue(true, false, "", sorted(facts), sorted(identity));
        }

        /** A profile of an unusable backend without facts. */
        static BackendProfile unusable(String why) {
            return of(Map.of(), Map.of()).unusable(why, false);
        }

        /**
         * Returns a copy of this profile for a backend that cannot be used.
         *
         * @param reason with remedies
         * @param hardwareIsAbsent true when the backend is not made for this device or machine
         */
        default BackendProfile unusable(String reason, boolean hardwareIsAbsent) {
            return new BackendProfileValue(false, hardwareIsAbsent, reason, facts(), identity());
        }

        /** Returns a copy of this profile with other identity facts. */
        default BackendProfile withIdentity(Map<String, String> other) {
            return new BackendProfileValue(usable(), notApplicable(), why(), facts(), sorted(other));
        }

        /** Returns true if no check failed. */
        boolean usable();

        /** Returns true if a check found that the backend is not made for this device or machine. */
        boolean notApplicable();

        /** Reasons why the backend is not usable, with remedies; empty when it is. */
        String why();

        /** Facts that {@link EpBackendProvider#offer} needs, in the order of the names. */
        Map<String, String> facts();

        /** Facts that {@link EpBackendProvider#offer} only compares between two ranks, in the order of the names. */
        Map<String, String> identity();
    }

    /** Collects the properties of a profile. For one thread. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    final class Builder {
        private final int rank;
        private final String hostId;
        private final Device device;
        private String hostName;
        private long pid;
        private Locality locality = Locality.UNKNOWN;
        private String domain = "";
        private Map<String, BackendProfile> backends = Map.of();
        private Map<String, String> settings = Map.of();

        private Builder(int rank, String hostId, Device device) {
            this.rank = rank;
            this.hostId = hostId;
            this.hostName = hostId;
            this.device = device;
        }

        /** Sets the name of the machine; without this call, the id of the host. */
        public Builder hostName(String name) {
            this.hostName = name;
            return this;
        }

        /** Sets the process id; without this call, 0. */
        public Builder pid(long processId) {
            this.pid = processId;
            return this;
        }

        /** Sets the machine around the device; without this call, {@link Locality#UNKNOWN}. */
        public Builder locality(Locality around) {
            this.locality = around;
            return this;
        }

        /** Sets the NVLink domain beyond the host, {@code cluster-uuid/clique-id}; without this call, there is none. */
        public Builder domain(String clique) {
            this.domain = clique;
            return this;
        }

        /** Sets the findings of the backends' probes, by backend id; without this call, there are no backends. */
        public Builder backends(Map<String, BackendProfile> found) {
            this.backends = sorted(found);
            return this;
        }

        /** Sets {@link RankProfile#settings}; without this call, it is empty. */
        public Builder settings(Map<String, String> values) {
            this.settings = sorted(values);
            return this;
        }

        /** Builds the profile. */
        public RankProfile build() {
            return new RankProfileValue(rank, hostId, hostName, pid, device, locality, domain, backends, settings);
        }
    }
}

record RankProfileValue(
        int rank,
        String hostId,
        String hostName,
        long pid,
        Device device,
        Locality locality,
        String domain,
        Map<String, BackendProfile> backends,
        Map<String, String> settings)
        implements RankProfile {
    @Override
    public String toString() {
        return label() + ", host id " + hostId + ", domain " + domain + ", locality " + locality + ", backends "
                + backends + ", settings " + settings;
    }
}

record BackendProfileValue(
        boolean usable, boolean notApplicable, String why, Map<String, String> facts, Map<String, String> identity)
        implements RankProfile.BackendProfile {
    @Override
    public String toString() {
        return (usable ? "usable" : notApplicable ? "not applicable: " + why : "not usable: " + why) + ", facts "
                + facts + ", identity " + identity;
    }
}
