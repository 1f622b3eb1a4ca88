package org.ep4j.tck.ranks;

import java.util.Map;

/**
 * The end of a job on one rank.
 *
 * @param rank index of the rank
 * @param end how the job ended
 * @param detail what failed, with stack traces; empty when nothing did
 * @param facts what the scenario reported
 * @param nanos {@link System#nanoTime} when it ended: the first failure is usually the cause of the others
 */
public record RankReport(int rank, End end, String detail, Map<String, String> facts, long nanos) {
    /** The ways in which a job can end. */
    public enum End {
        /** The scenario returned. */
        DONE,
        /** The scenario threw, or its process ended unexpectedly. */
        FAILED,
        /** The rank was killed at the request of its scenario. */
        KILLED,
        /** The scenario did not end in time. */
        HUNG
    }

    /** Copies the facts, since a rank that hangs may still add some. */
    public RankReport {
        facts = Map.copyOf(facts);
    }

    static RankReport hung(int rank, Job job, String stacks) {
        String detail = "not done after " + job.timeout() + "; threads:\n" + stacks;
        return new RankReport(rank, End.HUNG, detail, Map.of(), System.nanoTime());
    }
}
