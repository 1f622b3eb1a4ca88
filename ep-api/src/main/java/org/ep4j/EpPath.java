package org.ep4j;

import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.apiguardian.api.API;

/** Path from one rank to another, as the plan decided: backend, NICs, and reasons against other backends. Immutable. */
public sealed interface EpPath {
    /** Ways of bytes and counters to the peer. Constants may be added: keep a {@code default} where you switch over them. */
    enum Kind {
        /** The rank itself. */
        LOCAL,
        /** Plain loads and stores into the peer's memory. */
        MAPPED,
        /** The GPU posts to the NIC. */
        DEVICE_POSTED,
        /** A host thread posts to the NIC. */
        HOST_POSTED
    }

    /**
     * Starts a path without NICs, with one lane and without estimates.
     *
     * @param from rank that writes
     * @param to rank that is written to
     * @param backend id of the backend that moves the bytes
     */
    @API(status = API.Status.INTERNAL, since = "0.1")
    static Builder builder(int from, int to, String backend, Kind kind) {
        return new Builder(from, to, backend, kind);
    }

    /** Rank that writes. */
    int from();

    /** Rank that is written to. */
    int to();

    /** Id of the backend that moves the bytes; {@code local} for a rank and itself. */
    String backend();

    /** Way of bytes and counters to the peer. */
    Kind kind();

    /** NIC ports of {@link #from} that the path uses, as {@code name:port}; empty where no NIC is in the way. */
    List<String> nics();

    /** NIC ports of {@link #from} that the backend could use, best first; {@link #nics} are those that the plan assigned. */
    List<String> offeredNics();

    /** Number of independent ordered channels between the two ranks; 1 where no NIC is in the way. */
    int lanes();

    /** Returns true if bytes of a device take a detour through host memory. */
    boolean staged();

    /**
     * Estimated bandwidth in 1e9 bytes a second of this direction, while {@link #from} writes to no other peer; 0 where nothing
     * was estimated, and of no meaning for {@link Kind#LOCAL}.
     */
    double gigabytesPerSecond();

    /**
     * Estimated time in microseconds for one small counted write to be seen; 0 where nothing was estimated, and of no
     * meaning for {@link Kind#LOCAL}.
     */
    double latencyMicros();

    /** Every other backend with the reason why it was not taken, as {@code id: reason}. */
    List<String> rejected();

    /** Collects the properties of a path. For one thread. */
    @API(status = API.Status.INTERNAL, since = "0.1")
    final class Builder {
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

        /** Builds the path. */
        public EpPath build() {
            return new EpPathValue(
                    from,
                    to,
                    backend,
                    kind,
                    nics,
                    offeredNics.orElse(nics),
                    lanes > 0 ? lanes : Math.max(1, nics.size()),
                    staged,
                    gigabytesPerSecond,
                    latencyMicros,
                    rejected);
        }

        private static double checked(String name, double estimate) {
            if (!(estimate >= 0)) {
                throw new EpArgumentException(name, estimate, "0 or more", "0 stands for no estimate");
            }
            return estimate;
        }
    }
}

record EpPathValue(
        int from,
        int to,
        String backend,
        Kind kind,
        List<String> nics,
        List<String> offeredNics,
        int lanes,
        boolean staged,
        double gigabytesPerSecond,
        double latencyMicros,
        List<String> rejected)
        implements EpPath {
    /** Leaves out the reasons, which may be rendered only when they are read. */
    @Override
    public int hashCode() {
        return Objects.hash(from, to, backend, kind, nics, lanes);
    }

    @Override
    public String toString() {
        return from + "->" + to + " over " + backend + ", " + kind + ", " + gigabytesPerSecond + " GB/s, "
                + latencyMicros + " us, nics " + nics + " of " + offeredNics + ", lanes " + lanes
                + (staged ? ", staged through host memory" : "") + ", not taken " + rejected;
    }
}
