package org.ep4j.tck.crew;

import java.util.Map;

/**
 * How a job ended on one rank.
 *
 * @param rank which one
 * @param end how it ended
 * @param detail what failed, with stack traces; empty when nothing did
 * @param facts what the scenario reported
 * @param nanos {@link System#nanoTime} when it ended: the first failure is usually the cause of the others
 */
public record RankReport(int rank, End end, String detail, Map<String, String> facts, long nanos) {
    /** How a job can end. */
    public enum End {
        /** The scenario returned. */
        DONE,
        /** It threw, or its process ended by itself. */
        FAILED,
        /** The scenario asked for its own death and got it. */
        KILLED,
        /** It did not end in time. */
        HUNG
    }

    /** Copies the facts, to which a rank that hangs may still add. */
    public RankReport {
        facts = Map.copyOf(facts);
    }

    static RankReport hung(int rank, Job job, String stacks) {
        String detail = "not done after " + job.timeout() + "; threads:\n" + stacks;
        return new RankReport(rank, End.HUNG, detail, Map.of(), System.nanoTime());
    }
}
