package org.ep4j.engine.bootstrap;

import java.math.BigInteger;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;

/** A network interface of this machine, with its addresses, IPv4 first. */
record LocalInterface(String name, List<Address> addresses) {
    /** An address of an interface; {@code prefix} is the number of leading bits that all addresses of its network share. */
    record Address(InetAddress address, int prefix) {
        /** Returns whether an address is of the same network. */
        boolean isNear(InetAddress other) {
            byte[] own = address.getAddress();
            byte[] its = other.getAddress();
            int hostBits = Byte.SIZE * own.length - prefix;
            return own.length == its.length
                    && new BigInteger(1, own).shiftRight(hostBits).equals(new BigInteger(1, its).shiftRight(hostBits));
        }
    }

    /** Interfaces that are up and have an address, in the order of their numbers; none if the system cannot list them. */
    static List<LocalInterface> ofThisMachine() {
        try {
            return NetworkInterface.networkInterfaces()
                    .filter(LocalInterface::isUp)
                    .sorted(Comparator.comparing(NetworkInterface::getIndex))
                    .map(LocalInterface::of)
                    .filter(one -> !one.addresses.isEmpty())
                    .toList();
        } catch (SocketException e) {
            return List.of();
        }
    }

    private static LocalInterface of(NetworkInterface network) {
        return new LocalInterface(
                network.getName(),
                network.getInterfaceAddresses().stream()
                        .map(one -> new Address(one.getAddress(), one.getNetworkPrefixLength()))
                        .sorted(Comparator.comparing(one -> one.address().getAddress().length))
                        .toList());
    }

    private static boolean isUp(NetworkInterface network) {
        try {
            return network.isUp();
        } catch (SocketException e) {
            return false;
        }
    }

    boolean isLoopback() {
        return addresses.stream().allMatch(one -> one.address().isLoopbackAddress());
    }

    /** Returns whether an address is of this interface; every loopback address is of the loopback interface. */
    boolean has(InetAddress address) {
        return addresses.stream()
                .map(Address::address)
                .anyMatch(own -> own.equals(address) || (own.isLoopbackAddress() && address.isLoopbackAddress()));
    }

    @Override
    public String toString() {
        return addresses.stream()
                .map(one -> one.address().getHostAddress().replaceFirst("%.*", ""))
                .collect(Collectors.joining(", ", name + " (", ")"));
    }
}
