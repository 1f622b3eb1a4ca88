package org.ep4j.tck.posted;

import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.layout.Counter;
import org.ep4j.tck.ranks.GroupFactory;

/** Makes rank 1 accept from rank 0 the first round of a combine, and nothing after it. */
public final class StuckInRound implements GroupFactory {
    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        EpConfig own = bootstrap.rank() > 0
                ? config
                : config.toBuilder()
                        .set(
                                PostedThreadsProvider.STUCK.name(),
                                Integer.toString(BufferLayout.number(Counter.HT_ROUND)))
                        .build();
        return EpGroup.join(bootstrap, own);
    }
}
