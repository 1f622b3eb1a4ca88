package org.ep4j.cli.launch;

/**
 * How a job ended.
 *
 * @param rank the first rank that failed, or -1 when none did
 * @param code its exit code, 128 + signal where a signal ended it; 0 when none failed
 */
public record RankExit(int rank, int code) {
    /** All ranks ended with 0. */
    public static final RankExit OK = new RankExit(-1, 0);

    /** True when no rank failed. */
    public boolean ok() {
        return rank < 0;
    }

    /** For people: {@code rank 2 ended with exit code 7}. */
    public String describe() {
        if (ok()) {
            return "all ranks ended with exit code 0";
        }
        return "rank " + rank
                + (code > 128 && code < 160
                        ? " was killed by signal " + (code - 128)
                        : " ended with exit code " + code);
    }
}
