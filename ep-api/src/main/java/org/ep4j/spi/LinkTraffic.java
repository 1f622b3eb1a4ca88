package org.ep4j.spi;

import java.util.List;

/**
 * What one rank sent to one peer.
 *
 * @param peer its rank
 * @param failovers pairs of ports that were given up; they are not used again while the group lives
 * @param lanes each queue pair
 */
public record LinkTraffic(int peer, int failovers, List<OfLane> lanes) {
    /** Copies the list. */
    public LinkTraffic {
        lanes = List.copyOf(lanes);
    }

    /**
     * What one queue pair carried.
     *
     * @param lane its number
     * @param ports both ports, as {@code mlx5_0:1 to mlx5_0:1}
     * @param alive false once it was given up
     * @param bytes written
     * @param writes requests that wrote bytes
     * @param adds requests that advanced a counter
     * @param replays requests of a queue pair that was given up which this one repeated
     */
    public record OfLane(int lane, String ports, boolean alive, long bytes, long writes, long adds, long replays) {}
}
