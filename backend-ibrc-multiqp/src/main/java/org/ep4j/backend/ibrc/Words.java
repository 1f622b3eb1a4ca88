package org.ep4j.backend.ibrc;

/**
 * Where the words of a connection lie, in bytes from their start. A source has on its peer: the number of its fences, for
 * each lane the number of fences that the lane has passed, and for each rail whether the source has given it up.
 *
 * <p>A fence says that writes before it were spread over lanes. The number of fences advances on the lane of the counters
 * before the counter does, so a reader that sees a counter and then the number of fences waits for all lanes to pass them.
 *
 * @param lanes number of lanes
 * @param rails number of pairs of ports
 */
record Words(int lanes, int rails) {
    /** Added to the word of a lane that is given up: it passes every fence. */
    static final long CLOSED = 1L << 62;

    /** Number of fences. */
    long fences() {
        return 0;
    }

    /** Fences that a lane has passed. */
    long lane(int lane) {
        return 8L * (1 + lane);
    }

    /** 1 once the source has stopped all its queue pairs of a rail. */
    long stopped(int rail) {
        return 8L * (1 + lanes + rail);
    }

    /** Length of all of them, on a cache line's boundary. */
    int bytes() {
        return (8 * (1 + lanes + rails) + 63) & -64;
    }
}
