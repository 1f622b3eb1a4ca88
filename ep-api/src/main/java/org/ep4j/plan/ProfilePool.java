package org.ep4j.plan;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.ep4j.plan.RankProfile.BackendProfile;
import org.ep4j.topology.Locality;

/** Makes equal parts of profiles one object: each comes from bytes of its own, and most of a profile is like others'. */
final class ProfilePool {
    private final Map<Locality, Locality> localities = new HashMap<>();
    private final Map<BackendProfile, BackendProfile> backends = new HashMap<>();

    List<RankProfile> share(List<RankProfile> profiles) {
        return profiles.stream().map(this::share).toList();
    }

    private RankProfile share(RankProfile profile) {
        Map<String, BackendProfile> found = new TreeMap<>();
        profile.backends().forEach((id, backend) -> found.put(id, backends.computeIfAbsent(backend, same -> same)));
        return new RankProfile(
                profile.rank(),
                profile.hostId(),
                profile.hostName(),
                profile.pid(),
                profile.device(),
                localities.computeIfAbsent(profile.locality(), same -> same),
                profile.domain(),
                found,
                profile.settings());
    }
}
