package org.ep4j.tck.rules;

import java.util.Map;
import java.util.TreeMap;
import org.ep4j.spi.RankProfile;
import org.ep4j.spi.RankProfile.BackendProfile;

/** Gives ranks other names and identities. What was equal stays equal, what differed stays different. */
final class Renaming {
    private Renaming() {}

    /** Renames everything that an offer may only compare, or not look at. */
    static RankProfile all(RankProfile profile) {
        return with(profile, "renamed ", profile.rank() + 1000);
    }

    /** The same rank on a host that no other rank is on. */
    static RankProfile moved(RankProfile profile, String host) {
        return with(profile, "moved to " + host + " ", profile.rank());
    }

    private static RankProfile with(RankProfile profile, String prefix, int rank) {
        Map<String, BackendProfile> backends = new TreeMap<>();
        profile.backends().forEach((id, found) -> {
            Map<String, String> identity = new TreeMap<>();
            found.identity().forEach((name, value) -> identity.put(name, prefix + value));
            backends.put(id, found.withIdentity(identity));
        });
        return RankProfile.builder(rank, prefix + profile.hostId(), profile.device())
                .hostName(prefix + profile.hostName())
                .pid(profile.pid() + 1000)
                .locality(profile.locality())
                .domain(profile.domain().isEmpty() ? "" : prefix + profile.domain())
                .backends(backends)
                .settings(profile.settings())
                .build();
    }
}
