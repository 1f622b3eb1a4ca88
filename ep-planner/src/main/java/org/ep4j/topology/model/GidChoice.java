package org.ep4j.topology.model;

import java.util.Comparator;
import java.util.Optional;
import org.ep4j.topology.NicReach;

/**
 * The entry of a port's table of global ids to send from.
 *
 * <p>InfiniBand: entry 0, or entry 1 when it has a routable id (bytes 4 and 5 are not zero). RoCE: of the entries that are
 * neither empty nor link-local nor of another network namespace, one with an IPv4 address before one without, then RoCE v2 before v1, then the lowest
 * index. Ports of neither kind, such as EFA's: entry 0. NCCL ({@code net_ib/connect.cc},
 * {@code ncclIbGetGidIndex}) and NVSHMEM have the same rules. Where all addresses are IPv6, UCCL takes the first RoCE
 * v2 entry, and so does this rule.
 *
 * @param index what {@code sgid_index} gets
 * @param gid the entry; empty when the table is not known or has no such entry
 * @param verdict whether it will work
 */
public record GidChoice(int index, Optional<Gid> gid, Verdict verdict) {
    /** Entry that holds InfiniBand's routable id, NCCL's default of {@code NCCL_IB_ROUTABLE_FLID_GID_INDEX}. */
    private static final int ROUTABLE = 1;

    /** Verdict on the use of a GID. */
    public enum Verdict {
        /** It will. */
        FINE("fine"),
        /** It will where the fabric routes IPv6; no IPv4 address is on the port. */
        IPV6("an IPv6 address, because the port has no IPv4 address"),
        /** It will inside one Ethernet segment only: RoCE v1 cannot be routed. */
        ROCE_V1("of type RoCE v1, which does not pass routers"),
        /** It will where that namespace lets it: packets carry an address of another network namespace. */
        FOREIGN("of an interface in another network namespace"),
        /** It will not: made from the MAC address, not routed, and connecting fails or times out. */
        LINK_LOCAL("link-local"),
        /** It will not: no such entry is in use. */
        EMPTY("empty"),
        /** The table of the port is not known. */
        UNKNOWN("not known");

        private final String text;

        Verdict(String text) {
            this.text = text;
        }

        /** Returns true if connections from this entry can succeed. */
        public boolean usable() {
            return this == FINE || this == IPV6 || this == ROCE_V1;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /** Chooses an entry by NCCL's rules for the port's link layer. */
    public static GidChoice of(NicPort port) {
        return switch (port.linkLayer()) {
            case INFINIBAND -> infiniBand(port);
            case ETHERNET -> roce(port);
            case UNSPECIFIED -> new GidChoice(0, at(port, 0), known(port) ? Verdict.FINE : Verdict.UNKNOWN);
        };
    }

    /**
     * Chooses entry {@code index}, with its verdict; if {@code index} is negative, chooses an entry by NCCL's rules.
     * InfiniBand's tables have one entry as a rule, so one that is not in use is not taken there.
     */
    public static GidChoice of(NicPort port, int index) {
        boolean free = port.linkLayer() == NicReach.LinkLayer.INFINIBAND
                && at(port, index).isEmpty();
        return index < 0 || free ? of(port) : entry(port, index);
    }

    private static GidChoice infiniBand(NicPort port) {
        boolean routable = at(port, ROUTABLE)
                .flatMap(gid -> GidAddress.parse(gid.address()))
                .filter(GidAddress::routableLid)
                .isPresent();
        return entry(port, routable ? ROUTABLE : 0);
    }

    private static GidChoice roce(NicPort port) {
        return port.gids().stream()
                .filter(gid -> verdict(port, Optional.of(gid)).usable())
                .min(Comparator.<Gid>comparingInt(gid -> mapsIpv4(gid) ? 0 : 1)
                        .thenComparingInt(gid -> gid.type().contains("v2") ? 0 : 1)
                        .thenComparingInt(Gid::index))
                // None works. An own entry says why: it is link-local; those of other namespaces have addresses.
                .or(() -> port.gids().stream()
                        .min(Comparator.<Gid>comparingInt(gid -> gid.foreign() ? 1 : 0)
                                .thenComparingInt(Gid::index)))
                .map(gid -> new GidChoice(gid.index(), Optional.of(gid), verdict(port, Optional.of(gid))))
                .orElseGet(() -> entry(port, 0));
    }

    private static GidChoice entry(NicPort port, int index) {
        Optional<Gid> gid = at(port, index);
        return new GidChoice(index, gid, known(port) ? verdict(port, gid) : Verdict.UNKNOWN);
    }

    private static Verdict verdict(NicPort port, Optional<Gid> gid) {
        Optional<GidAddress> address = gid.flatMap(entry -> GidAddress.parse(entry.address()));
        if (address.isEmpty() || address.get().empty()) {
            return Verdict.EMPTY;
        }
        if (port.linkLayer() != NicReach.LinkLayer.ETHERNET) {
            return Verdict.FINE;
        }
        if (gid.filter(Gid::foreign).isPresent()) {
            return Verdict.FOREIGN;
        }
        if (address.get().linkLocal()) {
            return Verdict.LINK_LOCAL;
        }
        if (gid.filter(entry -> entry.type().contains("v1")).isPresent()) {
            return Verdict.ROCE_V1;
        }
        return address.get().ipv4Mapped() ? Verdict.FINE : Verdict.IPV6;
    }

    private static boolean mapsIpv4(Gid gid) {
        return GidAddress.parse(gid.address()).filter(GidAddress::ipv4Mapped).isPresent();
    }

    private static boolean known(NicPort port) {
        return port.gidsRead() || !port.gids().isEmpty();
    }

    private static Optional<Gid> at(NicPort port, int index) {
        return port.gids().stream().filter(gid -> gid.index() == index).findFirst();
    }

    /** For people: index, address, type and network interface. */
    @Override
    public String toString() {
        String entry = gid.map(g -> " (" + shown(g) + (g.type().isEmpty() ? "" : ", " + g.type())
                        + (g.netdev().isEmpty() ? "" : ", " + g.netdev()) + ")")
                .orElse("");
        return "GID index " + index + entry + (verdict == Verdict.FINE ? "" : ", " + verdict);
    }

    private static String shown(Gid gid) {
        return GidAddress.parse(gid.address()).map(GidAddress::toString).orElse(gid.address());
    }
}
