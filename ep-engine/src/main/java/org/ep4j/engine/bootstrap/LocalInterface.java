package org.ep4j.engine.bootstrap;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A network interface of this machine.
 *
 * @param name as the system has it
 * @param addresses its addresses; on this machine IPv4 first
 */
record LocalInterface(String name, List<Address> addresses) {
    LocalInterface {
        addresses = List.copyOf(addresses);
    }

    /**
     * An address of an interface.
     *
     * @param address the address
     * @param prefix number of leading bits that all addresses of its network share
     */
    record Address(InetAddress address, int prefix) {
        /** True for an address of the same network. */
        boolean isNear(InetAddress other) {
            byte[] own = address.getAddress();
            byte[] its = other.getAddress();
            if (own.length != its.length) {
                return false;
            }
            for (int bit = 0; bit < prefix; bit++) {
                int mask = 0x80 >> bit % Byte.SIZE;
                if (((own[bit / Byte.SIZE] ^ its[bit / Byte.SIZE]) & mask) != 0) {
                    return false;
                }
            }
            return true;
        }
    }

    /** Interfaces that are up and have an address, in the order of their numbers; none where the system does not say. */
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

    /** True for an address of this interface; every loopback address is one of the loopback interface. */
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
