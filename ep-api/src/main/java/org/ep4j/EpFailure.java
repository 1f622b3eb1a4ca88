package org.ep4j;

import java.io.Serializable;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Facts about an {@link EpTimeoutException} or {@link EpPeerLostException}, as values: what is not known is empty. Immutable;
 * equal if all values are equal. All of it but the {@link #path} is serialised.
 */
public final class EpFailure implements Serializable {
    private static final long serialVersionUID = 1L;

    private final String phase;
    private final int peer;
    private final String host;
    private final transient @Nullable EpPath path;
    private final @Nullable String nic;
    private final @Nullable Integer nativeStatus;
    private final String nativeStatusName;
    private final long expected;
    private final long seen;

    private EpFailure(Builder builder) {
        this.phase = builder.phase;
        this.peer = builder.peer;
        this.host = builder.host;
        this.path = builder.path;
        this.nic = builder.nic;
        this.nativeStatus = builder.nativeStatus;
        this.nativeStatusName = builder.nativeStatusName;
        this.expected = builder.expected;
        this.seen = builder.seen;
    }

    /**
     * Creates a builder with phase and peer. Both counters are 0.
     *
     * @param phase what this rank was doing, for example {@code dispatch rows}
     * @param peer rank that is lost or did not answer, or -1 if it is not one rank
     */
    public static Builder builder(String phase, int peer) {
        return new Builder(phase, peer);
    }

    /** Creates a builder with the values of this failure. */
    public Builder toBuilder() {
        Builder builder = new Builder(phase, peer);
        builder.host = host;
        builder.path = path;
        builder.nic = nic;
        builder.nativeStatus = nativeStatus;
        builder.nativeStatusName = nativeStatusName;
        builder.expected = expected;
        builder.seen = seen;
        return builder;
    }

    /** Activity of this rank, for example {@code dispatch rows}. */
    public String phase() {
        return phase;
    }

    /** Rank that is lost or did not answer, or -1 if it is not one rank. */
    public int peer() {
        return peer;
    }

    /** Name of the host of {@link #peer}; an empty text if it is not known. */
    public String host() {
        return host;
    }

    /** Path from this rank to {@link #peer}. */
    public Optional<EpPath> path() {
        return Optional.ofNullable(path);
    }

    /** NIC of this rank that failed, as the backend names it; mostly one of {@link EpPath#nics}. */
    public Optional<String> nic() {
        return Optional.ofNullable(nic);
    }

    /** Number that the driver or library gave, such as a completion status of libibverbs or an error of libfabric. */
    public OptionalInt nativeStatus() {
        return nativeStatus == null ? OptionalInt.empty() : OptionalInt.of(nativeStatus);
    }

    /** Text that the driver or library has for {@link #nativeStatus}; empty without a status. */
    public String nativeStatusName() {
        return nativeStatusName;
    }

    /**
     * Value of the counter that was waited for; if no counter was waited for, another amount, such as 1 for an event,
     * or 0.
     */
    public long expected() {
        return expected;
    }

    /** Last value of that counter or amount. */
    public long seen() {
        return seen;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof EpFailure that
                && phase.equals(that.phase)
                && peer == that.peer
                && host.equals(that.host)
                && Objects.equals(path, that.path)
                && Objects.equals(nic, that.nic)
                && Objects.equals(nativeStatus, that.nativeStatus)
                && nativeStatusName.equals(that.nativeStatusName)
                && expected == that.expected
                && seen == that.seen;
    }

    @Override
    public int hashCode() {
        return Objects.hash(phase, peer, host, nativeStatusName, expected, seen);
    }

    /** The values that are known, for people. */
    @Override
    public String toString() {
        return phase + (peer < 0 ? "" : ", rank " + peer) + (host.isEmpty() ? "" : " on " + host)
                + (path == null ? "" : " over " + path.backend()) + (nic == null ? "" : ", " + nic)
                + (nativeStatus == null ? "" : ", status " + nativeStatus + " (" + nativeStatusName + ")")
                + ", expected " + expected + ", seen " + seen;
    }

    /** Collects the values of a failure. For one thread. */
    public static final class Builder {
        private String phase;
        private int peer;
        private String host = "";
        private @Nullable EpPath path;
        private @Nullable String nic;
        private @Nullable Integer nativeStatus;
        private String nativeStatusName = "";
        private long expected;
        private long seen;

        private Builder(String phase, int peer) {
            this.phase = phase;
            this.peer = peer;
        }

        /** Sets the activity of this rank. */
        public Builder phase(String doing) {
            this.phase = doing;
            return this;
        }

        /** Sets the rank that is lost or did not answer, or -1 if it is not one rank. */
        public Builder peer(int rank) {
            this.peer = rank;
            return this;
        }

        /** Sets the name of the peer's host. */
        public Builder host(String name) {
            this.host = name;
            return this;
        }

        /** Sets the path to the peer. */
        public Builder path(EpPath toPeer) {
            this.path = toPeer;
            return this;
        }

        /** Sets the NIC of this rank that failed, if possible by its name in {@link EpPath#nics}. */
        public Builder nic(String name) {
            this.nic = name;
            return this;
        }

        /** Sets the number that the driver or library gave, with its text. */
        public Builder nativeStatus(int status, String name) {
            this.nativeStatus = status;
            this.nativeStatusName = name;
            return this;
        }

        /** Sets the value of the counter that was waited for. */
        public Builder expected(long value) {
            this.expected = value;
            return this;
        }

        /** Sets the last value of that counter. */
        public Builder seen(long value) {
            this.seen = value;
            return this;
        }

        /** Builds the failure. */
        public EpFailure build() {
            return new EpFailure(this);
        }
    }
}
