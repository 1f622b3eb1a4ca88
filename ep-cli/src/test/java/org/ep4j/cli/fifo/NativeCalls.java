package org.ep4j.cli.fifo;

/** The functions of {@code proxy.cpp}, once the library is loaded. */
final class NativeCalls {
    private NativeCalls() {}

    /**
     * Starts threads.
     *
     * @param table address of the addresses of the rings
     * @param sums address of one word in 16 for each ring, written at the end
     * @param answer address of the word that pings are answered in
     * @return for {@link #stop}
     */
    static native long start(long table, int rings, int commands, int threads, long sums, long answer);

    /** Ends them. */
    static native void stop(long handle);
}
