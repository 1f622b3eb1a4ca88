package org.ep4j.tck.posted;

import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.tck.ranks.GroupFactory;

/** Puts ranks 0 and 1 on one simulated host, 2 and 3 on the next, and so on. */
public final class SimulatedHosts implements GroupFactory {
    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        String host = "host-" + bootstrap.rank() / 2;
        return EpGroup.join(
                bootstrap,
                config.toBuilder().set(PostedThreadsProvider.HOST.name(), host).build());
    }
}
