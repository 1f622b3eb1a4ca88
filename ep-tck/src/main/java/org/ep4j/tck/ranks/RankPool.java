package org.ep4j.tck.ranks;

import java.util.List;

/** Ranks that run jobs one after another. Not safe for use from several threads. */
public interface RankPool extends AutoCloseable {
    /** Returns the number of ranks. */
    int size();

    /**
     * Runs a job on the first {@link Job#ranks()} ranks.
     *
     * @return one report for each rank, in rank order
     */
    List<RankReport> run(Job job);

    /** Returns false after a job in which a rank failed, hung or was killed: the pool takes no more jobs then. */
    boolean usable();

    /** Shuts the ranks down. A second call does nothing. */
    @Override
    void close();
}
