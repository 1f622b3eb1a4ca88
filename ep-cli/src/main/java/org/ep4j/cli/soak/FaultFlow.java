package org.ep4j.cli.soak;

/** What happens in a round once its group exchanges: a fault, and what the ranks must make of it. */
@FunctionalInterface
interface FaultFlow {
    /** Exchanges of a run that a fault hits. */
    int IN_FLIGHT = 8;

    /** Exchanges of a run that shows that a group works. */
    int PROOF = 3;

    /** Injects the fault into a group all of whose members are ready, and reports what must not happen. */
    void run(RankGroup group);

    /** Lets a part of the time pass that the exchanges in flight take. */
    static void awaitMoment(RankGroup group) {
        group.watch(
                group.estimate((int) (IN_FLIGHT * 100 * group.round().moment())).dividedBy(100));
    }
}
