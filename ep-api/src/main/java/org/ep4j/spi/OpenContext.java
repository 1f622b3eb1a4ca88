package org.ep4j.spi;

import java.time.Duration;
import java.util.List;
import org.ep4j.EpDevice;
import org.ep4j.config.EpConfig;
import org.ep4j.plan.EpPlan;

/**
 * What a backend is opened with.
 *
 * @param plan the agreed plan
 * @param rank this rank's number in the plan
 * @param ranks ranks whose plan uses this backend, ascending, this one among them
 * @param bootstrap connects exactly {@code ranks}: member {@code i} of it is {@code ranks.get(i)}; the group closes it
 * @param device device of this rank
 * @param config resolved settings
 * @param deadline longest time that opening may take
 */
public record OpenContext(
        EpPlan plan,
        int rank,
        List<Integer> ranks,
        Bootstrap bootstrap,
        EpDevice device,
        EpConfig config,
        Duration deadline) {
    /** Copies the list. */
    public OpenContext {
        ranks = List.copyOf(ranks);
    }
}
