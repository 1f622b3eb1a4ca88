package org.ep4j.backend.ibrc;

/** What queue pairs of a port have under way, whichever peers they lead to. For one thread. */
final class PortLoad {
    private int requests;
    private long bytes;
    private long mostTogether;

    /** A request of so many bytes of data is posted. */
    void take(int length) {
        requests += length > 0 ? 1 : 0;
        bytes += length;
        if (requests > 1) {
            mostTogether = Math.max(mostTogether, bytes);
        }
    }

    /** It is known to be complete. */
    void give(int length) {
        requests -= length > 0 ? 1 : 0;
        bytes -= length;
    }

    /** Most bytes that several requests had under way at once. */
    long mostTogether() {
        return mostTogether;
    }
}
