package org.ep4j.tck.ranks;

/** Code that every rank of a job runs, as a class with a no-argument constructor. */
@FunctionalInterface
public interface Scenario {
    /**
     * Runs on one rank.
     *
     * @throws AssertionError when the backend breaks the rule
     * @throws org.ep4j.EpException counts as a failure, too
     */
    void run(RankContext context);
}
