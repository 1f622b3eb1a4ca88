package org.ep4j.transport.memory;

import java.util.Map;
import java.util.stream.Collectors;
import org.ep4j.spi.HostPosted;
import org.ep4j.spi.SymmetricBuffer;

/** What a backend refuses before it posts a counted write, in the same words everywhere. */
public final class PostedArguments {
    private PostedArguments() {}

    /**
     * Refuses a range that is not inside a buffer.
     *
     * @param what the range is, for the message
     * @param size bytes of the buffer
     * @throws IllegalArgumentException with the range and the size
     */
    public static void checkRange(String what, long offset, long bytes, long size, SymmetricBuffer buffer) {
        if (offset < 0 || bytes < 0 || offset > size - bytes) {
            throw new IllegalArgumentException(what + " [" + offset + ", " + offset + " + " + bytes
                    + ") is not inside [0, " + size + ") of " + buffer);
        }
    }

    /**
     * Refuses the number of a counter that there is not.
     *
     * @throws IllegalArgumentException with the number and the limit
     */
    public static void checkCounter(int counter) {
        if (counter < 0 || counter >= HostPosted.COUNTERS) {
            throw new IllegalArgumentException(
                    "counter is " + counter + ", must be from 0 to " + (HostPosted.COUNTERS - 1));
        }
    }

    /**
     * The link to a peer.
     *
     * @param links by rank of the peer
     * @param rank this one
     * @throws IllegalArgumentException naming the peers that there are
     */
    public static <T> T link(Map<Integer, T> links, int peer, int rank, String backend) {
        T link = links.get(peer);
        if (link == null) {
            throw new IllegalArgumentException("rank " + peer + " is not connected to rank " + rank + " by " + backend
                    + ", which connects rank " + rank + " to "
                    + links.keySet().stream().sorted().map(String::valueOf).collect(Collectors.joining(", ")));
        }
        return link;
    }
}
