package org.ep4j.cli.launch;

/** Takes what ranks print, line by line. Called from several threads at once. */
@FunctionalInterface
public interface RankOutput {
    /** Where a rank printed a line. */
    enum Stream {
        /** Standard output. */
        OUT,
        /** Standard error. */
        ERR
    }

    /** One line, without its end. */
    void line(int rank, Stream stream, String text);
}
