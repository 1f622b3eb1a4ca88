package org.ep4j;

import java.util.List;
import org.apiguardian.api.API;

/** Traffic from this rank to one peer over one backend, counted since the backend was opened. Immutable. */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
public sealed interface EpTraffic {
    /**
     * Returns the traffic to one peer, for backends.
     *
     * @param backend its id
     * @param peer rank of the peer
     * @param failovers as {@link #failovers()}
     * @param lanes in the order of their numbers
     */
    static EpTraffic of(String backend, int peer, int failovers, List<Lane> lanes) {
        return new EpTrafficValue(backend, peer, failovers, List.copyOf(lanes));
    }

    /** Id of the backend. */
    String backend();

    /** Rank of the peer. */
    int peer();

    /** Number of pairs of ports that were given up; they are not used again while the group lives. */
    int failovers();

    /** Each queue pair to the peer. */
    List<Lane> lanes();

    /** Traffic of one queue pair. Immutable. */
    sealed interface Lane {
        /**
         * Starts with a lane that is alive and carried nothing, for backends.
         *
         * @param index its number among the lanes to the peer, from 0
         * @param ports both ports, as {@code mlx5_0:1 to mlx5_0:1}
         */
        static Builder builder(int index, String ports) {
            return new Builder(index, ports);
        }

        /** Number among the lanes to the peer, from 0. */
        int index();

        /** Both ports, as {@code mlx5_0:1 to mlx5_0:1}. */
        String ports();

        /** Returns false once the lane was given up. */
        boolean alive();

        /** Bytes written. */
        long bytes();

        /** Number of requests that wrote bytes. */
        long writes();

        /** Number of requests that advanced a counter. */
        long signals();

        /** Number of requests that this lane repeated for a lane that was given up. */
        long replays();

        /** Collects the figures of a lane. Not safe for use from several threads. */
        final class Builder {
            private final int index;
            private final String ports;
            private boolean alive = true;
            private long bytes;
            private long writes;
            private long signals;
            private long replays;

            private Builder(int index, String ports) {
                this.index = index;
                this.ports = ports;
            }

            /** Sets {@link Lane#alive}. */
            public Builder alive(boolean value) {
                this.alive = value;
                return this;
            }

            /** Sets {@link Lane#bytes}. */
            public Builder bytes(long value) {
                this.bytes = value;
                return this;
            }

            /** Sets {@link Lane#writes}. */
            public Builder writes(long value) {
                this.writes = value;
                return this;
            }

            /** Sets {@link Lane#signals}. */
            public Builder signals(long value) {
                this.signals = value;
                return this;
            }

            /** Sets {@link Lane#replays}. */
            public Builder replays(long value) {
                this.replays = value;
                return this;
            }

            /** Builds the lane. */
            public Lane build() {
                return new LaneValue(index, ports, alive, bytes, writes, signals, replays);
            }
        }
    }
}

record EpTrafficValue(String backend, int peer, int failovers, List<Lane> lanes) implements EpTraffic {
    @Override
    public String toString() {
        return backend + " to rank " + peer + ", " + failovers + " failovers, " + lanes;
    }
}

record LaneValue(int index, String ports, boolean alive, long bytes, long writes, long signals, long replays)
        implements EpTraffic.Lane {
    @Override
    public String toString() {
        return "lane " + index + " " + ports + (alive ? "" : ", given up") + ": " + bytes + " bytes, " + writes
                + " writes, " + signals + " signals, " + replays + " replays";
    }
}
