package org.ep4j;

import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.apiguardian.api.API;

/** How one rank reaches another, as the plan decided: by which backend, over which NICs, and why not otherwise. Immutable. */
@API(status = API.Status.STABLE, since = "0.1")
public final class EpPath {
    private final int from;
    private final int to;
    private final String backend;
    private final Kind kind;
    private final List<String> nics;
    private final List<String> offeredNics;
    private final int lanes;
    private final boolean staged;
    private final double gigabytesPerSecond;
    private final double latencyMicros;
    private final List<String> rejected;

    /** How bytes and counters get to the peer. Constants may be added: keep a {@code default} where you switch over them. */
    @API(status = API.Status.STABLE, since = "0.1")
    public enum Kind {
        /** The rank itself. */
        LOCAL,
        /** Plain loads and stores into the peer's memory. */
        MAPPED,
        /** The GPU posts to the NIC. */
        DEVICE_POSTED,
        /** A host thread posts to the NIC. */
        HOST_POSTED
    }

    private EpPath(Builder builder) {
        this.from = builder.from;
        this.to = builder.to;
        this.backend = builder.backend;
        this.kind = builder.kind;
        this.nics = builder.nics;
        this.offeredNics = builder.offeredNics.orElse(nics);
        this.lanes = builder.lanes > 0 ? builder.lanes : Math.max(1, nics.size());
        this.staged = builder.staged;
        this.gigabytesPerSecond = builder.gigabytesPerSecond;
        this.latencyMicros = builder.latencyMicros;
        this.rejected = builder.rejected;
    }

    /**
     * Starts a path without NICs, with one lane and without estimates.
     *
     * @param from rank that writes
     * @param to rank that is written to
     * @param backend id of the backend that moves the bytes
     */
    @API(status = API.Status.INTERNAL, since = "0.1")
    public static Builder builder(int from, int to, String backend, Kind kind) {
        return new Builder(from, to, backend, kind);
    }

    /** Rank that writes. */
    public int from() {
        return from;
    }

    /** Rank that is written to. */
    public int to() {
        return to;
    }

    /** Id of the backend that moves the bytes; {@code local} for a rank and itself. */
    public String backend() {
        return backend;
    }

    /** How bytes and counters get to the peer. */
    public Kind kind() {
        return kind;
    }

    /** NIC ports of {@link #from} that the path uses, as {@code name:port}; empty where no NIC is in the way. */
    public List<String> nics() {
        return nics;
    }

    /** NIC ports of {@link #from} that the backend could use, best first; {@link #nics} are those that the plan assigned. */
    public List<String> offeredNics() {
        return offeredNics;
    }

    /** Number of independent ordered channels between the two ranks; 1 where no NIC is in the way. */
    public int lanes() {
        return lanes;
    }

    /** Returns true if bytes of a device take a detour through host memory. */
    public boolean staged() {
        return staged;
    }

    /**
     * Estimated bandwidth in 1e9 bytes a second of this direction, while {@link #from} writes to no other peer; 0 where nothing
     * was estimated, and of no meaning for {@link Kind#LOCAL}.
     */
    public double gigabytesPerSecond() {
        return gigabytesPerSecond;
    }

    /**
     * Estimated time in microseconds for one small counted write to be seen; 0 where nothing was estimated, and of no
     * meaning for {@link Kind#LOCAL}.
     */
    public double latencyMicros() {
        return latencyMicros;
    }

    /** Every other backend with the reason why it was not taken, as {@code id: reason}. */
    public List<String> rejected() {
        return rejected;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof EpPath path
                && from == path.from
                && to == path.to
                && backend.equals(path.backend)
                && kind == path.kind
                && nics.equals(path.nics)
                && offeredNics.equals(path.offeredNics)
                && lanes == path.lanes
                && staged == path.staged
                && Double.compare(gigabytesPerSecond, path.gigabytesPerSecond) == 0
                && Double.compare(latencyMicros, path.latencyMicros) == 0
                && rejected.equals(path.rejected);
    }

    @Override
    public int hashCode() {
        return Objects.hash(from, to, backend, kind, nics, lanes);
    }

    /** All properties, for people. */
    @Override
    public String toString() {
        return from + "->" + to + " over " + backend + ", " + kind + ", " + gigabytesPerSecond + " GB/s, "
                + latencyMicros + " us, nics " + nics + " of " + offeredNics + ", lanes " + lanes
                + (staged ? ", staged through host memory" : "") + ", not taken " + rejected;
    }

    /** Collects the properties of a path. For one thread. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    public static final class Builder {
        private final int from;
        private final int to;
        private final String backend;
        private final Kind kind;
        private List<String> nics = List.of();
        private Optional<List<String>> offeredNics = Optional.empty();
        private int lanes;
        private boolean staged;
        private double gigabytesPerSecond;
        private double latencyMicros;
        private List<String> rejected = List.of();

        private Builder(int from, int to, String backend, Kind kind) {
            this.from = from;
            this.to = to;
            this.backend = backend;
            this.kind = kind;
        }

        /** Sets the ports that the path uses; without {@link #lanes}, it has one lane for each. */
        public Builder nics(List<String> ports) {
            this.nics = List.copyOf(ports);
            return this;
        }

        /** Sets the ports that the backend could use; without this call, the ports of {@link #nics}. */
        public Builder offeredNics(List<String> ports) {
            this.offeredNics = Optional.of(List.copyOf(ports));
            return this;
        }

        /**
         * Sets the number of lanes.
         *
         * @throws EpArgumentException when it is less than 1
         */
        public Builder lanes(int count) {
            if (count < 1) {
                throw new EpArgumentException("lanes", count, "1 or more", "a path without NICs has one lane");
            }
            this.lanes = count;
            return this;
        }

        /** Sets whether bytes of a device take a detour through host memory. */
        public Builder staged(boolean detour) {
            this.staged = detour;
            return this;
        }

        /**
         * Sets the estimated bandwidth in GB/s.
         *
         * @throws EpArgumentException when it is negative
         */
        public Builder gigabytesPerSecond(double estimate) {
            this.gigabytesPerSecond = checked("gigabytesPerSecond", estimate);
            return this;
        }

        /**
         * Sets the estimated latency in microseconds.
         *
         * @throws EpArgumentException when it is negative
         */
        public Builder latencyMicros(double estimate) {
            this.latencyMicros = checked("latencyMicros", estimate);
            return this;
        }

        /** Sets why other backends were not taken, each as {@code id: reason}. */
        public Builder rejected(List<String> reasons) {
            this.rejected = List.copyOf(reasons);
            return this;
        }

        /**
         * Sets why other backends were not taken, as {@link #rejected} does, without a copy: the list may render a
         * reason whenever it is read. For planners, whose plans have many paths of which few are read.
         *
         * @param reasons must be immutable
         */
        public Builder lazilyRejected(List<String> reasons) {
            this.rejected = Collections.unmodifiableList(reasons);
            return this;
        }

        /** The path. */
        public EpPath build() {
            return new EpPath(this);
        }

        private static double checked(String name, double estimate) {
            if (!(estimate >= 0)) {
                throw new EpArgumentException(name, estimate, "0 or more", "0 stands for no estimate");
            }
            return estimate;
        }
    }
}
