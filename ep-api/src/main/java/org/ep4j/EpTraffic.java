package org.ep4j;

import java.util.List;
import java.util.Objects;
import org.apiguardian.api.API;

/** Traffic from this rank to one peer over one backend, counted since the backend was opened. Immutable. */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
public final class EpTraffic {
    private final String backend;
    private final int peer;
    private final int failovers;
    private final List<Lane> lanes;

    private EpTraffic(String backend, int peer, int failovers, List<Lane> lanes) {
        this.backend = backend;
        this.peer = peer;
        this.failovers = failovers;
        this.lanes = List.copyOf(lanes);
    }

    /**
     * Traffic to one peer, for backends.
     *
     * @param backend its id
     * @param peer rank of the peer
     * @param failovers as {@link #failovers()}
     * @param lanes in the order of their numbers
     */
    public static EpTraffic of(String backend, int peer, int failovers, List<Lane> lanes) {
        return new EpTraffic(backend, peer, failovers, lanes);
    }

    /** Id of the backend. */
    public String backend() {
        return backend;
    }

    /** Rank of the peer. */
    public int peer() {
        return peer;
    }

    /** Number of pairs of ports that were given up; they are not used again while the group lives. */
    public int failovers() {
        return failovers;
    }

    /** Each queue pair to the peer. */
    public List<Lane> lanes() {
        return lanes;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof EpTraffic that
                && backend.equals(that.backend)
                && peer == that.peer
                && failovers == that.failovers
                && lanes.equals(that.lanes);
    }

    @Override
    public int hashCode() {
        return Objects.hash(backend, peer, failovers, lanes);
    }

    @Override
    public String toString() {
        return backend + " to rank " + peer + ", " + failovers + " failovers, " + lanes;
    }

    /** What one queue pair carried. Immutable. */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    public static final class Lane {
        private final int index;
        private final String ports;
        private final boolean alive;
        private final long bytes;
        private final long writes;
        private final long signals;
        private final long replays;

        private Lane(Builder builder) {
            this.index = builder.index;
            this.ports = builder.ports;
            this.alive = builder.alive;
            this.bytes = builder.bytes;
            this.writes = builder.writes;
            this.signals = builder.signals;
            this.replays = builder.replays;
        }

        /**
         * Starts with a lane that is alive and carried nothing, for backends.
         *
         * @param index its number among the lanes to the peer, from 0
         * @param ports both ports, as {@code mlx5_0:1 to mlx5_0:1}
         */
        public static Builder builder(int index, String ports) {
            return new Builder(index, ports);
        }

        /** Number among the lanes to the peer, from 0. */
        public int index() {
            return index;
        }

        /** Both ports, as {@code mlx5_0:1 to mlx5_0:1}. */
        public String ports() {
            return ports;
        }

        /** Returns false once the lane was given up. */
        public boolean alive() {
            return alive;
        }

        /** Bytes written. */
        public long bytes() {
            return bytes;
        }

        /** Number of requests that wrote bytes. */
        public long writes() {
            return writes;
        }

        /** Number of requests that advanced a counter. */
        public long signals() {
            return signals;
        }

        /** Number of requests that this lane repeated for a lane that was given up. */
        public long replays() {
            return replays;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Lane that
                    && index == that.index
                    && ports.equals(that.ports)
                    && alive == that.alive
                    && bytes == that.bytes
                    && writes == that.writes
                    && signals == that.signals
                    && replays == that.replays;
        }

        @Override
        public int hashCode() {
            return Objects.hash(index, ports, alive, bytes, writes, signals, replays);
        }

        @Override
        public String toString() {
            return "lane " + index + " " + ports + (alive ? "" : ", given up") + ": " + bytes + " bytes, " + writes
                    + " writes, " + signals + " signals, " + replays + " replays";
        }

        /** Collects the figures of a lane. Not safe for use from several threads. */
        @API(status = API.Status.EXPERIMENTAL, since = "0.1")
        public static final class Builder {
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

            /** The finished lane. */
            public Lane build() {
                return new Lane(this);
            }
        }
    }
}
