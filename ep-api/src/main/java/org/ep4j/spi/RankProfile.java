package org.ep4j.spi;

import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apiguardian.api.API;
import org.ep4j.Device;
import org.ep4j.topology.Locality;

/** What one rank reported about itself; the input of planning. Immutable. */
@API(status = API.Status.STABLE, since = "0.1")
public final class RankProfile {
    private final int rank;
    private final String hostId;
    private final String hostName;
    private final long pid;
    private final Device device;
    private final Locality locality;
    private final String domain;
    private final Map<String, BackendProfile> backends;
    private final Map<String, String> settings;

    private RankProfile(Builder builder) {
        this.rank = builder.rank;
        this.hostId = builder.hostId;
        this.hostName = builder.hostName;
        this.pid = builder.pid;
        this.device = builder.device;
        this.locality = builder.locality;
        this.domain = builder.domain;
        this.backends = builder.backends;
        this.settings = builder.settings;
    }

    /**
     * Starts the profile of a rank whose machine is not known.
     *
     * @param rank number in the group
     * @param hostId equal for ranks that share one operating system, different otherwise
     * @param device device of the rank
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static Builder builder(int rank, String hostId, Device device) {
        return new Builder(rank, hostId, device);
    }

    /** Returns a builder that starts with this profile. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public Builder toBuilder() {
        Builder builder = new Builder(rank, hostId, device);
        builder.hostName = hostName;
        builder.pid = pid;
        builder.locality = locality;
        builder.domain = domain;
        builder.backends = backends;
        builder.settings = settings;
        return builder;
    }

    /** Number in the group. */
    public int rank() {
        return rank;
    }

    /** Id of the host: equal for ranks that share one operating system, different otherwise. */
    public String hostId() {
        return hostId;
    }

    /** Name of the machine, for messages. */
    public String hostName() {
        return hostName;
    }

    /** Process id on its host. */
    public long pid() {
        return pid;
    }

    /** Device of the rank. */
    public Device device() {
        return device;
    }

    /** The machine around the device. */
    public Locality locality() {
        return locality;
    }

    /** NVLink domain beyond the host, {@code cluster-uuid/clique-id}; empty when there is none. */
    public String domain() {
        return domain;
    }

    /** What each backend's probe found, by backend id, in the order of the ids. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public Map<String, BackendProfile> backends() {
        return backends;
    }

    /** What the probe of one backend found; empty when this rank does not have the backend. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public Optional<BackendProfile> backend(String id) {
        return Optional.ofNullable(backends.get(id));
    }

    /** The facts of one backend; empty when this rank does not have it. */
    public Map<String, String> facts(String backend) {
        BackendProfile profile = backends.get(backend);
        return profile == null ? Map.of() : profile.facts();
    }

    /** Facts of one backend that planning only compares between ranks; empty if this rank does not have the backend. */
    public Map<String, String> identity(String backend) {
        BackendProfile profile = backends.get(backend);
        return profile == null ? Map.of() : profile.identity();
    }

    /**
     * Values of settings, by key: settings that all ranks must share, and settings that planning applies to this rank (the
     * NICs that it may use, and the limits of what is in flight on them).
     */
    public Map<String, String> settings() {
        return settings;
    }

    /** Name for messages, for example {@code rank 3 (host-a, pid 4711, host:0)}. */
    public String label() {
        return "rank " + rank + " (" + hostName + ", pid " + pid + ", " + device + ")";
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || (other instanceof RankProfile that
                        && rank == that.rank
                        && hostId.equals(that.hostId)
                        && hostName.equals(that.hostName)
                        && pid == that.pid
                        && device.equals(that.device)
                        && locality.equals(that.locality)
                        && domain.equals(that.domain)
                        && backends.equals(that.backends)
                        && settings.equals(that.settings));
    }

    @Override
    public int hashCode() {
        return Objects.hash(rank, hostId, hostName, pid, device, locality, domain, backends, settings);
    }

    /** All properties, for people. */
    @Override
    public String toString() {
        return label() + ", host id " + hostId + ", domain " + domain + ", locality " + locality + ", backends "
                + backends + ", settings " + settings;
    }

    private static <V> Map<String, V> sorted(Map<String, V> map) {
        return Collections.unmodifiableMap(new TreeMap<>(map));
    }

    /** What one rank found out about one backend. Immutable. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final class BackendProfile {
        private final boolean usable;
        private final boolean notApplicable;
        private final String why;
        private final Map<String, String> facts;
        private final Map<String, String> identity;

        private BackendProfile(
                boolean usable,
                boolean notApplicable,
                String why,
                Map<String, String> facts,
                Map<String, String> identity) {
            this.usable = usable;
            this.notApplicable = notApplicable;
            this.why = why;
            this.facts = facts;
            this.identity = identity;
        }

        /** A profile from what a probe or a description found. */
        public static BackendProfile of(ProbeReport report) {
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
        public static BackendProfile of(Map<String, String> facts, Map<String, String> identity) {
            return new BackendProfile(true, false, "", sorted(facts), sorted(identity));
        }

        /** A profile of an unusable backend without facts. */
        public static BackendProfile unusable(String why) {
            return of(Map.of(), Map.of()).unusable(why, false);
        }

        /**
         * Returns a copy of this profile for a backend that cannot be used.
         *
         * @param reason with remedies
         * @param hardwareIsAbsent true when the backend is not made for this device or machine
         */
        public BackendProfile unusable(String reason, boolean hardwareIsAbsent) {
            return new BackendProfile(false, hardwareIsAbsent, reason, facts, identity);
        }

        /** Returns a copy of this profile with other identity facts. */
        public BackendProfile withIdentity(Map<String, String> other) {
            return new BackendProfile(usable, notApplicable, why, facts, sorted(other));
        }

        /** Returns true if no check failed. */
        public boolean usable() {
            return usable;
        }

        /** Returns true if a check found that the backend is not made for this device or machine. */
        public boolean notApplicable() {
            return notApplicable;
        }

        /** Why it is not usable, with remedies; empty when it is. */
        public String why() {
            return why;
        }

        /** What {@link EpBackendProvider#offer} needs, in the order of the names. */
        public Map<String, String> facts() {
            return facts;
        }

        /** What {@link EpBackendProvider#offer} only compares between two ranks, in the order of the names. */
        public Map<String, String> identity() {
            return identity;
        }

        @Override
        public boolean equals(Object other) {
            return this == other
                    || (other instanceof BackendProfile that
                            && usable == that.usable
                            && notApplicable == that.notApplicable
                            && why.equals(that.why)
                            && facts.equals(that.facts)
                            && identity.equals(that.identity));
        }

        @Override
        public int hashCode() {
            return Objects.hash(usable, notApplicable, why, facts, identity);
        }

        /** Whether it is usable, else why not, and the facts, for people. */
        @Override
        public String toString() {
            return (usable ? "usable" : notApplicable ? "not applicable: " + why : "not usable: " + why) + ", facts "
                    + facts + ", identity " + identity;
        }
    }

    /** Collects what a rank reports. For one thread. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final class Builder {
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

        /** Sets what the backends' probes found, by backend id; without this call, there are no backends. */
        public Builder backends(Map<String, BackendProfile> found) {
            this.backends = sorted(found);
            return this;
        }

        /** Sets what {@link RankProfile#settings} returns; without this call, it is empty. */
        public Builder settings(Map<String, String> values) {
            this.settings = sorted(values);
            return this;
        }

        /** The profile. */
        public RankProfile build() {
            return new RankProfile(this);
        }
    }
}
