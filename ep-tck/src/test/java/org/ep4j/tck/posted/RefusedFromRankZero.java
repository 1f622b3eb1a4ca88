package org.ep4j.tck.posted;

import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.tck.ranks.GroupFactory;

/** Fails the first write of rank 0 to rank 1 after the first low-latency dispatch; the link works before and after it. */
public final class RefusedFromRankZero implements GroupFactory {
    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        EpConfig own = bootstrap.rank() > 0
                ? config
                : config.toBuilder()
                        .set(
                                PostedThreadsProvider.REFUSED.name(),
                                Integer.toString(BufferLayout.number(Counter.LL_DISPATCH)))
                        .build();
        return EpGroup.join(bootstrap, own);
    }
}
