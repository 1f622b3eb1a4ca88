package org.ep4j.spi;

import java.util.List;
import org.ep4j.EpPath;

/**
 * Answer of a backend for one ordered pair of ranks: a path with estimates, or the reason why there is none. If it is no path, the
 * accessors of a path's properties throw {@link IllegalStateException}. Immutable.
 */
public sealed interface Offer {
    /**
     * Returns the answer of a backend that cannot connect the pair.
     *
     * @param reason why, with values
     * @param remedy what would make it possible; empty when nothing would
     */
    static Offer none(String reason, String remedy) {
        return new NoPath(reason, remedy);
    }

    /** Starts the offer of a path; it needs {@link Builder#gigabytesPerSecond} and {@link Builder#latencyMicros}. */
    static Builder path(EpPath.Kind kind) {
        return new Builder(kind);
    }

    /**
     * Returns a builder that starts with this path.
     *
     * @throws IllegalStateException when this is no path
     */
    default Builder toBuilder() {
        return new Builder(kind())
                .gigabytesPerSecond(gigabytesPerSecond())
                .latencyMicros(latencyMicros())
                .nics(nics())
                .staged(staged())
                .flow(flow())
                .sharers(sharers());
    }

    /** Returns true if this is a path, and false if it is a reason why there is none. */
    default boolean isPath() {
        return this instanceof PathOffer;
    }

    private IllegalStateException noPath() {
        return new IllegalStateException("the offer is no path: " + reason() + "; ask isPath first");
    }

    /** Kind of the path. */
    default EpPath.Kind kind() {
        throw noPath();
    }

    /** Estimated bandwidth of one direction, in 1e9 bytes a second, while the writing rank writes to no other peer. */
    default double gigabytesPerSecond() {
        throw noPath();
    }

    /** Estimated time for one small counted write to be seen, in microseconds. */
    default double latencyMicros() {
        throw noPath();
    }

    /**
     * NIC ports of the writing rank that it could use, as {@code name:port}, best first; the plan assigns some of them.
     * Empty where there is none in the way.
     */
    default List<String> nics() {
        throw noPath();
    }

    /** Returns true if bytes of a device take a detour through host memory. */
    default boolean staged() {
        throw noPath();
    }

    /** Limits of what is in flight on these NICs, for people; empty if none is known. */
    default String flow() {
        throw noPath();
    }

    /**
     * Number of rank pairs that divide {@link #gigabytesPerSecond} when all ranks of the host write to each other, this pair
     * included; 1 if the pair has its own links, is between hosts, or the sharing is not estimated (PCIe, GPU switches,
     * sockets).
     */
    default int sharers() {
        throw noPath();
    }

    /** Bandwidth in GB/s that the pair gets when all ranks of the host write to each other. */
    default double sharedGigabytesPerSecond() {
        return gigabytesPerSecond() / sharers();
    }

    /** Reason why there is no path, with values; empty if this is one. */
    default String reason() {
        return "";
    }

    /** Change that would make a path possible; empty when nothing would, and if this is a path. */
    default String remedy() {
        return "";
    }

    /** Collects the properties of a path. For one thread. */
    final class Builder {
        private final EpPath.Kind kind;
        private double gigabytesPerSecond;
        private double latencyMicros;
        private List<String> nics = List.of();
        private boolean staged;
        private String flow = "";
        private int sharers = 1;

        private Builder(EpPath.Kind kind) {
            this.kind = kind;
        }

        /** Sets the estimated bandwidth of one direction, in 1e9 bytes a second; above 0. */
        public Builder gigabytesPerSecond(double estimate) {
            this.gigabytesPerSecond = estimate;
            return this;
        }

        /** Sets the estimated time for one small counted write to be seen, in microseconds; above 0. */
        public Builder latencyMicros(double estimate) {
            this.latencyMicros = estimate;
            return this;
        }

        /** Sets the NIC ports that the path could use, as {@code name:port}, best first; without this call, none. */
        public Builder nics(List<String> ports) {
            this.nics = List.copyOf(ports);
            return this;
        }

        /** Sets whether bytes of a device take a detour through host memory; without this call, they do not. */
        public Builder staged(boolean detour) {
            this.staged = detour;
            return this;
        }

        /** Sets a description, for people, of the limits of what is in flight; without this call, none is known. */
        public Builder flow(String limits) {
            this.flow = limits;
            return this;
        }

        /** Sets how many pairs of ranks share the bandwidth, this pair included; without this call, 1. */
        public Builder sharers(int pairs) {
            this.sharers = pairs;
            return this;
        }

        /**
         * Builds the offer.
         *
         * @throws IllegalArgumentException when an estimate is missing or not above 0, or {@link #sharers} is below 1
         */
        public Offer build() {
            if (!(gigabytesPerSecond > 0) || !(latencyMicros > 0) || sharers < 1) {
                throw new IllegalArgumentException("an offer of a path needs positive estimates, got "
                        + gigabytesPerSecond + " GB/s, " + latencyMicros + " us and " + sharers + " sharers");
            }
            return new PathOffer(kind, gigabytesPerSecond, latencyMicros, nics, staged, flow, sharers);
        }
    }
}

record PathOffer(
        EpPath.Kind kind,
        double gigabytesPerSecond,
        double latencyMicros,
        List<String> nics,
        boolean staged,
        String flow,
        int sharers)
        implements Offer {
    @Override
    public String toString() {
        return kind + ", " + gigabytesPerSecond + " GB/s, " + latencyMicros + " us, nics " + nics
                + (staged ? ", staged through host memory" : "") + (flow.isEmpty() ? "" : ", " + flow)
                + (sharers == 1 ? "" : ", " + sharers + " pairs share it");
    }
}

record NoPath(String reason, String remedy) implements Offer {
    @Override
    public String toString() {
        return "no path: " + reason + (remedy.isEmpty() ? "" : " (" + remedy + ")");
    }
}
