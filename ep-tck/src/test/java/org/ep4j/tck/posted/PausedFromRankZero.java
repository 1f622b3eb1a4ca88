package org.ep4j.tck.posted;

import org.ep4j.EpGroup;
import org.ep4j.config.EpConfig;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.spi.Bootstrap;
import org.ep4j.tck.crew.GroupFactory;

/** Rank 1 takes from rank 0 all of the first low-latency dispatch, and the rest much later than rank 0 waits for room. */
public final class PausedFromRankZero implements GroupFactory {
    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        EpConfig own = bootstrap.rank() > 0
                ? config
                : config.toBuilder()
                        .set(PostedThreadsProvider.QUEUE.name(), "4")
                        .set(PostedThreadsProvider.PAUSE.name(), "2000")
                        .set(
                                PostedThreadsProvider.STUCK.name(),
                                Integer.toString(BufferLayout.number(Counter.LL_DISPATCH)))
                        .build();
        return EpGroup.join(bootstrap, own);
    }
}
