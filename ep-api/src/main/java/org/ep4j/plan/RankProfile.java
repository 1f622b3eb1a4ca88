package org.ep4j.plan;

import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.ep4j.Device;
import org.ep4j.EpMismatchException;

/**
 * What one rank reported about itself; the input of planning.
 *
 * @param rank number in the group
 * @param hostId equal for ranks that share one operating system, different otherwise
 * @param hostName name of the machine, for messages
 * @param pid process id on its host
 * @param device device of the rank
 * @param backends what each backend's probe found, by backend id
 * @param settings values of the settings that all ranks must share, by key
 */
public record RankProfile(
        int rank,
        String hostId,
        String hostName,
        long pid,
        Device device,
        Map<String, BackendProfile> backends,
        Map<String, String> settings) {
    /**
     * One backend on one rank.
     *
     * @param usable true when no check failed
     * @param why why it is not usable, with remedies; empty when it is
     * @param facts what {@code offer} needs
     */
    public record BackendProfile(boolean usable, String why, Map<String, String> facts) {
        /** Copies the facts, in key order. */
        public BackendProfile {
            facts = Collections.unmodifiableMap(new TreeMap<>(facts));
        }
    }

    /** Copies the maps, in key order. */
    public RankProfile {
        backends = Collections.unmodifiableMap(new TreeMap<>(backends));
        settings = Collections.unmodifiableMap(new TreeMap<>(settings));
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

    /** Name for messages: {@code rank 3 (host-a, pid 4711, host:0)}. */
    public String label() {
        return "rank " + rank + " (" + hostName + ", pid " + pid + ", " + device + ")";
    }

    /** The profile as bytes; equal profiles give equal bytes. */
    public byte[] encode() {
        return RankProfileCodec.encode(this);
    }

    /**
     * Reads {@link #encode}.
     *
     * @throws EpMismatchException when the bytes are not a profile of this version
     */
    public static RankProfile decode(byte[] bytes) {
        return RankProfileCodec.decode(bytes);
    }
}
