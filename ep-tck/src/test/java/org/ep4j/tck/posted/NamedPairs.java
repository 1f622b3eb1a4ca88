package org.ep4j.tck.posted;

import java.util.List;
import java.util.Map;
import org.ep4j.EpGroup;
import org.ep4j.config.EpConfig;
import org.ep4j.spi.Bootstrap;
import org.ep4j.tck.crew.GroupFactory;

/** Tells test backends which rank they are on, so that they can offer paths to pairs that a setting names: {@code 0>1 1>0}. */
public final class NamedPairs implements GroupFactory {
    static Map<String, String> facts(int rank, String pairs) {
        return Map.of("rank", Integer.toString(rank), "pairs", pairs);
    }

    /** Whether a pair is named, by the facts of both. */
    static boolean have(Map<String, String> from, Map<String, String> to) {
        return List.of(from.getOrDefault("pairs", "").split(" ", -1)).contains(from.get("rank") + ">" + to.get("rank"));
    }

    @Override
    public EpGroup join(Bootstrap bootstrap, EpConfig config) {
        String rank = Integer.toString(bootstrap.rank());
        return EpGroup.join(
                bootstrap,
                config.toBuilder()
                        .set(PutThreadsProvider.RANK.name(), rank)
                        .set(PostedThreadsProvider.RANK.name(), rank)
                        .build());
    }
}
