package org.ep4j.tck.crew;

import java.util.List;

/** Ranks that take jobs one after another. Not safe for use from several threads. */
public interface RankCrew extends AutoCloseable {
    /** Number of ranks. */
    int size();

    /**
     * Runs a job on the first {@link Job#ranks()} ranks.
     *
     * @return one report a rank, in rank order
     */
    List<RankReport> run(Job job);

    /** False after a job in which a rank failed, hung or was killed: the crew takes no more jobs. */
    boolean usable();

    /** Ends the ranks. A second call does nothing. */
    @Override
    void close();
}
