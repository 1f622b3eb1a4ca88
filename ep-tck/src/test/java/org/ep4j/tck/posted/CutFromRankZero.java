package org.ep4j.tck.posted;

import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.tck.ranks.GroupFactory;

/** Breaks the link from rank 0 to rank 1 after some writes. */
public final class CutFromRankZero implements GroupFactory {
    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        EpConfig own = bootstrap.rank() > 0
                ? config
                : config.toBuilder().set(PostedThreadsProvider.CUT.name(), "77").build();
        return EpGroup.join(bootstrap, own);
    }
}
