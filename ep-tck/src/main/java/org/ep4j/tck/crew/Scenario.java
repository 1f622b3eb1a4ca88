package org.ep4j.tck.crew;

/** What every rank of a job does. Its no-argument constructor does nothing. */
@FunctionalInterface
public interface Scenario {
    /**
     * Runs on one rank.
     *
     * @throws AssertionError when the backend breaks the rule
     * @throws org.ep4j.EpException also counts as a failure
     */
    void run(RankContext context);
}
