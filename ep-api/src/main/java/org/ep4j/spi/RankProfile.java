package org.ep4j.spi;

import java.lang.invoke.MethodHandles;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.ep4j.Device;
import org.ep4j.EpMismatchException;
import org.ep4j.topology.Locality;

/**
 * What one rank reported about itself; the input of planning.
 *
 * @param rank number in the group
 * @param hostId equal for ranks that share one operating system, different otherwise
 * @param hostName name of the machine, for messages
 * @param pid process id on its host
 * @param device device of the rank
 * @param locality the machine around the device
 * @param domain NVLink domain beyond the host, {@code cluster-uuid/clique-id}; empty when there is none
 * @param backends what each backend's probe found, by backend id
 * @param settings values of the settings that all ranks must share, and of those that planning applies to this rank
 *     ({@code org.ep4j.plan.NicChoice.KEYS}), by key
 */
public record RankProfile(
        int rank,
        String hostId,
        String hostName,
        long pid,
        Device device,
        Locality locality,
        String domain,
        Map<String, BackendProfile> backends,
        Map<String, String> settings) {
    private static final RecordCodec<RankProfile> CODEC =
            new RecordCodec<>(MethodHandles.lookup(), RankProfile.class, "its profile", 6);

    /**
     * What one rank found out about one backend.
     *
     * @param usable true when no check failed
     * @param notApplicable true when a check found that the backend is not made for this device or machine
     * @param why why it is not usable, with remedies; empty when it is
     * @param facts what {@code offer} needs
     * @param identity what {@code offer} only compares between two ranks
     */
    public record BackendProfile(
            boolean usable,
            boolean notApplicable,
            String why,
            Map<String, String> facts,
            Map<String, String> identity) {
        /** Creates a profile of a backend that applies, without identity facts. */
        public BackendProfile(boolean usable, String why, Map<String, String> facts) {
            this(usable, why, facts, Map.of());
        }

        /** Creates a profile of a backend that applies. */
        public BackendProfile(boolean usable, String why, Map<String, String> facts, Map<String, String> identity) {
            this(usable, false, why, facts, identity);
        }

        /** A profile from what a probe or a description found. */
        public static BackendProfile of(ProbeReport report) {
            String why = report.failures().stream().map(Object::toString).collect(Collectors.joining("; "));
            Map<String, String> facts = new TreeMap<>(report.facts());
            facts.remove(ProbeReport.SUMMARY);
            return new BackendProfile(
                    report.usable(), report.notApplicable().isPresent(), why, facts, report.identity());
        }

        /** Copies the facts, in key order. */
        public BackendProfile {
            facts = Collections.unmodifiableMap(new TreeMap<>(facts));
            identity = Collections.unmodifiableMap(new TreeMap<>(identity));
        }

        /** Returns a copy of this profile with other identity facts. */
        public BackendProfile withIdentity(Map<String, String> other) {
            return new BackendProfile(usable, notApplicable, why, facts, other);
        }
    }

    /** Creates a profile of a rank whose machine is not known. */
    public RankProfile(
            int rank,
            String hostId,
            String hostName,
            long pid,
            Device device,
            Map<String, BackendProfile> backends,
            Map<String, String> settings) {
        this(rank, hostId, hostName, pid, device, Locality.UNKNOWN, "", backends, settings);
    }

    /** Copies the maps, in key order. */
    public RankProfile {
        backends = Collections.unmodifiableMap(new TreeMap<>(backends));
        settings = Collections.unmodifiableMap(new TreeMap<>(settings));
    }

    /** Facts of one backend that planning only compares between ranks; empty if this rank does not have the backend. */
    public Map<String, String> identity(String backend) {
        BackendProfile profile = backends.get(backend);
        return profile == null ? Map.of() : profile.identity();
    }

    /** The facts of one backend; empty when this rank does not have it. */
    public Map<String, String> facts(String backend) {
        BackendProfile profile = backends.get(backend);
        return profile == null ? Map.of() : profile.facts();
    }

    /** One backend, or empty when this rank does not have it. */
    public Optional<BackendProfile> backend(String id) {
        return Optional.ofNullable(backends.get(id));
    }

    /** Name for messages, for example {@code rank 3 (host-a, pid 4711, host:0)}. */
    public String label() {
        return "rank " + rank + " (" + hostName + ", pid " + pid + ", " + device + ")";
    }

    /** Returns a copy of this profile with another locality. */
    public RankProfile withLocality(Locality other) {
        return new RankProfile(rank, hostId, hostName, pid, device, other, domain, backends, settings);
    }

    /** Returns a copy of this profile with other backends. */
    public RankProfile withBackends(Map<String, BackendProfile> other) {
        return new RankProfile(rank, hostId, hostName, pid, device, locality, domain, other, settings);
    }

    /** The profile as bytes; equal profiles give equal bytes. */
    public byte[] encode() {
        return CODEC.encode(this);
    }

    /**
     * Decodes what {@link #encode} returned.
     *
     * @throws EpMismatchException when the bytes are not a profile of this version
     */
    public static RankProfile decode(byte[] bytes) {
        return CODEC.decode(bytes);
    }
}
