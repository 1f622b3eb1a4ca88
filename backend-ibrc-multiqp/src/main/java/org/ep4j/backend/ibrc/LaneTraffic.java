package org.ep4j.backend.ibrc;

/** What a queue pair has carried. Written under the lock of its link. */
final class LaneTraffic {
    private long bytes;
    private long writes;
    private long adds;
    private long replays;

    void count(Request request) {
        if (request.counts()) {
            adds++;
        } else if (request.opcode == Commands.WRITE) {
            writes++;
            bytes += request.length;
        }
    }

    void replayed() {
        replays++;
    }

    long bytes() {
        return bytes;
    }

    long writes() {
        return writes;
    }

    long adds() {
        return adds;
    }

    long replays() {
        return replays;
    }
}
