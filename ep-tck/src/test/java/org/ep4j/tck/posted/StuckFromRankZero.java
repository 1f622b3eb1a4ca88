package org.ep4j.tck.posted;

import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.tck.ranks.GroupFactory;

/** Makes rank 1 accept from rank 0 all of the first low-latency dispatch, and nothing after it. */
public final class StuckFromRankZero implements GroupFactory {
    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        EpConfig own = bootstrap.rank() > 0
                ? config
                : config.toBuilder()
                        .set(PostedThreadsProvider.QUEUE.name(), "4")
                        .set(
                                PostedThreadsProvider.STUCK.name(),
                                Integer.toString(BufferLayout.number(Counter.LL_DISPATCH)))
                        .build();
        return EpGroup.join(bootstrap, own);
    }
}
