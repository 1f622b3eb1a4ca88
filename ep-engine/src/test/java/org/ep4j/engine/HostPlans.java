package org.ep4j.engine;

import java.util.ArrayList;
import java.util.List;
import org.ep4j.Device;
import org.ep4j.EpPath;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile;

/** Plans of groups on the host device of one machine. */
final class HostPlans {
    private HostPlans() {}

    /** Plan of ranks on one machine that map each other's memory by backend {@code a}. */
    static GroupPlan mapped(int ranks) {
        List<RankProfile> profiles = new ArrayList<>();
        List<EpPath> paths = new ArrayList<>();
        for (int from = 0; from < ranks; from++) {
            profiles.add(RankProfile.builder(from, "h", Device.HOST)
                    .hostName("host-" + from)
                    .pid(1 + from)
                    .build());
            for (int to = 0; to < ranks; to++) {
                paths.add(
                        from == to
                                ? EpPath.builder(from, to, "local", EpPath.Kind.LOCAL)
                                        .build()
                                : EpPath.builder(from, to, "a", EpPath.Kind.MAPPED)
                                        .gigabytesPerSecond(1)
                                        .latencyMicros(1)
                                        .build());
            }
        }
        return GroupPlan.of(profiles, paths);
    }
}
