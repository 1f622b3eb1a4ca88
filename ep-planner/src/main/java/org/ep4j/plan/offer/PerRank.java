package org.ep4j.plan.offer;

import com.google.common.collect.MapMaker;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;
import org.ep4j.spi.RankProfile;

/**
 * Computes a value from one rank's profile for the offers of a backend, once for each profile: a planner asks for the
 * offers of many pairs of the same ranks, and a machine may have hundreds of GPUs and NICs. Profiles go by identity,
 * and are not kept. Safe for use by several threads.
 *
 * @param <T> what is worked out; it does not refer to the profile
 */
public final class PerRank<T> {
    private final ConcurrentMap<RankProfile, T> known =
            new MapMaker().weakKeys().makeMap();
    private final Function<RankProfile, T> find;

    /**
     * Creates a cache of the values of a function.
     *
     * @param find a pure function
     */
    public PerRank(Function<RankProfile, T> find) {
        this.find = find;
    }

    public T of(RankProfile rank) {
        return known.computeIfAbsent(rank, find);
    }
}
