package org.ep4j.backend.ibrc;

/** The id of a request: lane, number on the lane, and whether it is a receive; after an error nothing else is valid. */
final class CompletionId {
    private static final int LANE_SHIFT = 48;
    private static final long NUMBER = (1L << LANE_SHIFT) - 1;
    private static final long RECEIVE = 1L << 62;

    private CompletionId() {}

    static long send(int lane, long number) {
        return ((long) lane << LANE_SHIFT) | (number & NUMBER);
    }

    static long receive(int lane) {
        return RECEIVE | ((long) lane << LANE_SHIFT);
    }

    static boolean isReceive(long id) {
        return (id & RECEIVE) != 0;
    }

    static int lane(long id) {
        return (int) ((id >>> LANE_SHIFT) & 0x3fff);
    }

    /** The number on the lane, which is the one nearest to {@code near} with these bits. */
    static long number(long id, long near) {
        long distance = (id - near) << 16 >> 16;
        return near + distance;
    }
}
