package org.ep4j.spi;

import java.util.List;
import java.util.Objects;
import org.apiguardian.api.API;
import org.ep4j.EpPath;

/**
 * What a backend says about one ordered pair of ranks: a path with estimates, or why there is none. If it is no path, the
 * accessors of a path's properties throw {@link IllegalStateException}. Immutable.
 */
@API(status = API.Status.STABLE, since = "0.1")
public final class Offer {
    private final boolean path;
    private final EpPath.Kind kind;
    private final double gigabytesPerSecond;
    private final double latencyMicros;
    private final List<String> nics;
    private final boolean staged;
    private final String flow;
    private final int sharers;
    private final String reason;
    private final String remedy;

    private Offer(Builder builder, boolean path, String reason, String remedy) {
        this.path = path;
        this.kind = builder.kind;
        this.gigabytesPerSecond = builder.gigabytesPerSecond;
        this.latencyMicros = builder.latencyMicros;
        this.nics = builder.nics;
        this.staged = builder.staged;
        this.flow = builder.flow;
        this.sharers = builder.sharers;
        this.reason = reason;
        this.remedy = remedy;
    }

    /**
     * The answer of a backend that cannot connect the pair.
     *
     * @param reason why, with values
     * @param remedy what would make it possible; empty when nothing would
     */
    public static Offer none(String reason, String remedy) {
        return new Offer(new Builder(EpPath.Kind.LOCAL), false, reason, remedy);
    }

    /** Starts the offer of a path; it needs {@link Builder#gigabytesPerSecond} and {@link Builder#latencyMicros}. */
    public static Builder path(EpPath.Kind kind) {
        return new Builder(kind);
    }

    /**
     * Returns a builder that starts with this path.
     *
     * @throws IllegalStateException when this is no path
     */
    public Builder toBuilder() {
        return new Builder(kind())
                .gigabytesPerSecond(gigabytesPerSecond)
                .latencyMicros(latencyMicros)
                .nics(nics)
                .staged(staged)
                .flow(flow)
                .sharers(sharers);
    }

    /** Returns true if this is a path, and false if it is a reason why there is none. */
    public boolean isPath() {
        return path;
    }

    private Offer requirePath() {
        if (!path) {
            throw new IllegalStateException("the offer is no path: " + reason + "; ask isPath first");
        }
        return this;
    }

    /** How bytes move. */
    public EpPath.Kind kind() {
        return requirePath().kind;
    }

    /** Estimated bandwidth of one direction, in 1e9 bytes a second, while the writing rank writes to no other peer. */
    public double gigabytesPerSecond() {
        return requirePath().gigabytesPerSecond;
    }

    /** Estimated time for one small counted write to be seen, in microseconds. */
    public double latencyMicros() {
        return requirePath().latencyMicros;
    }

    /**
     * NIC ports of the writing rank that it could use, as {@code name:port}, best first; the plan assigns some of them.
     * Empty where there is none in the way.
     */
    public List<String> nics() {
        return requirePath().nics;
    }

    /** Returns true if bytes of a device take a detour through host memory. */
    public boolean staged() {
        return requirePath().staged;
    }

    /** Limits of what is in flight on these NICs, for people; empty if none is known. */
    public String flow() {
        return requirePath().flow;
    }

    /**
     * Number of rank pairs that divide {@link #gigabytesPerSecond} when all ranks of the host write to each other, this pair
     * included; 1 if the pair has its own links, is between hosts, or the sharing is not estimated (PCIe, GPU switches,
     * sockets).
     */
    public int sharers() {
        return requirePath().sharers;
    }

    /** Bandwidth in GB/s that the pair gets when all ranks of the host write to each other. */
    public double sharedGigabytesPerSecond() {
        return requirePath().gigabytesPerSecond / sharers;
    }

    /** Why there is no path, with values; empty if this is one. */
    public String reason() {
        return reason;
    }

    /** What would make a path possible; empty when nothing would, and if this is a path. */
    public String remedy() {
        return remedy;
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || (other instanceof Offer that
                        && path == that.path
                        && kind == that.kind
                        && Double.compare(gigabytesPerSecond, that.gigabytesPerSecond) == 0
                        && Double.compare(latencyMicros, that.latencyMicros) == 0
                        && nics.equals(that.nics)
                        && staged == that.staged
                        && flow.equals(that.flow)
                        && sharers == that.sharers
                        && reason.equals(that.reason)
                        && remedy.equals(that.remedy));
    }

    @Override
    public int hashCode() {
        return Objects.hash(path, kind, gigabytesPerSecond, latencyMicros, nics, staged, flow, sharers, reason, remedy);
    }

    /** The path, or the reason and remedy, for messages. */
    @Override
    public String toString() {
        if (!path) {
            return "no path: " + reason + (remedy.isEmpty() ? "" : " (" + remedy + ")");
        }
        return kind + ", " + gigabytesPerSecond + " GB/s, " + latencyMicros + " us, nics " + nics
                + (staged ? ", staged through host memory" : "") + (flow.isEmpty() ? "" : ", " + flow)
                + (sharers == 1 ? "" : ", " + sharers + " pairs share it");
    }

    /** Collects the properties of a path. For one thread. */
    @API(status = API.Status.STABLE, since = "0.1")
    public static final class Builder {
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
         * The offer.
         *
         * @throws IllegalArgumentException when an estimate is missing or not above 0, or {@link #sharers} is below 1
         */
        public Offer build() {
            if (!(gigabytesPerSecond > 0) || !(latencyMicros > 0) || sharers < 1) {
                throw new IllegalArgumentException("an offer of a path needs positive estimates, got "
                        + gigabytesPerSecond + " GB/s, " + latencyMicros + " us and " + sharers + " sharers");
            }
            return new Offer(this, true, "", "");
        }
    }
}
