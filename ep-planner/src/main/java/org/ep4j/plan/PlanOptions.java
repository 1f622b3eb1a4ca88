package org.ep4j.plan;

import org.ep4j.EpConfig;
import org.ep4j.config.EpKeys;

/**
 * Inputs of planning other than the profiles; the same on all ranks.
 *
 * @param backends what the user wants of backends
 * @param nics what the user wants of NICs, for ranks whose profiles say nothing about it
 * @param objective what paths are to be good at
 * @param lanes lanes of a pair over NICs; 0 lets the planner compute it
 * @param proxies host threads that post for a GPU; 0 lets the planner compute it
 * @param hybrid whether mapped and posted paths are compared by the same rules; otherwise mapped paths are chosen last
 * @param relays whether rows go once to ranks that map each other's memory, one of which relays them to the others
 */
public record PlanOptions(
        BackendChoice backends,
        NicChoice nics,
        Objective objective,
        int lanes,
        int proxies,
        boolean hybrid,
        boolean relays) {
    /** Default options, without any choice of the user. */
    public static final PlanOptions AUTO = new PlanOptions(BackendChoice.AUTO, NicChoice.AUTO, Objective.BALANCED);

    /**
     * Creates options with {@code hybrid} and {@code relays} on, for which the planner computes the numbers of lanes and proxy
     * threads.
     */
    public PlanOptions(BackendChoice backends, NicChoice nics, Objective objective) {
        this(backends, nics, objective, 0, 0, true, true);
    }

    /** Reads the settings that all ranks share. Those of NICs may differ between ranks, so they come with the profiles. */
    public static PlanOptions from(EpConfig config) {
        return new PlanOptions(
                BackendChoice.from(config),
                NicChoice.AUTO,
                Objective.from(config),
                EpKeys.LANES.get(config),
                EpKeys.PROXY_THREADS.get(config),
                EpKeys.HYBRID.get(config),
                EpKeys.RAILS.get(config));
    }

    /** Returns a copy with another objective. */
    public PlanOptions withObjective(Objective other) {
        return new PlanOptions(backends, nics, other, lanes, proxies, hybrid, relays);
    }
}
