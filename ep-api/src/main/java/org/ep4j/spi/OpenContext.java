package org.ep4j.spi;

import java.time.Duration;
import java.util.List;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;
import org.ep4j.EpDevice;
import org.ep4j.EpPlan;

/**
 * What a backend is opened with.
 *
 * @param plan the agreed plan: the group's own, which {@code GroupPlan.of} of ep-planner accepts
 * @param profiles what the ranks of the plan reported, in rank order
 * @param rank this rank's number in the plan
 * @param ranks ranks whose plan uses this backend, ascending, this one among them
 * @param bootstrap connects exactly {@code ranks}: member {@code i} of it is {@code ranks.get(i)}; the group closes it
 * @param device device of this rank
 * @param config settings of this rank; read them by their keys
 * @param timeout longest time that opening may take
 */
public record OpenContext(
        EpPlan plan,
        List<RankProfile> profiles,
        int rank,
        List<Integer> ranks,
        Bootstrap bootstrap,
        EpDevice device,
        EpConfig config,
        Duration timeout) {
    /**
     * Copies the lists.
     *
     * @throws IllegalArgumentException when there are not as many profiles as ranks of the plan
     */
    public OpenContext {
        profiles = List.copyOf(profiles);
        ranks = List.copyOf(ranks);
        if (profiles.size() != plan.ranks()) {
            throw new IllegalArgumentException("a plan of " + plan.ranks() + " ranks needs as many profiles, got "
                    + profiles.size() + "; give one for each rank");
        }
    }
}
