package org.ep4j.engine.bootstrap;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.ep4j.EpUnavailableException;

/**
 * Where rank 0 serves, as it announces to the others through a {@link org.ep4j.Bootstrap.Broadcast}.
 *
 * @param machine boot id of its machine, by which ranks on the same one know; empty when unknown
 * @param host name of the machine, for messages
 * @param port port there
 * @param secret which shows who belongs to the job; not empty
 * @param addresses of the machine, likeliest first, as literals
 */
record Rendezvous(String machine, String host, int port, Secret secret, List<String> addresses) {
    private static final String FORM = "ep4j-rendezvous-1";
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    private static final int LINES = 6;

    Rendezvous {
        addresses = List.copyOf(addresses);
    }

    /**
     * One on this machine.
     *
     * @param own the address that alone is listened on; empty when all are
     */
    static Rendezvous here(int port, Secret secret, Optional<InetAddress> own, ChosenInterfaces interfaces) {
        // Nothing listens on loopback where an address is given, so that ranks on this machine must not look there.
        return own.isPresent()
                ? new Rendezvous("", hostName(), port, secret, List.of(text(own.get())))
                : new Rendezvous(thisMachine(), hostName(), port, secret, ownAddresses(interfaces));
    }

    /** Name of this machine; never one that means its loopback. */
    static String hostName() {
        try {
            String name = InetAddress.getLocalHost().getHostName();
            return name.isBlank() || name.startsWith("localhost") ? "the machine of rank 0" : name;
        } catch (UnknownHostException e) {
            return "the machine of rank 0";
        }
    }

    byte[] encode() {
        return String.join(
                        "\n", FORM, machine, host, Integer.toString(port), secret.text(), String.join(" ", addresses))
                .getBytes(UTF_8);
    }

    static Rendezvous parse(byte[] bytes) {
        String[] lines = new String(bytes, UTF_8).split("\n", -1);
        if (lines.length != LINES || !lines[0].equals(FORM) || !lines[3].matches("\\d{1,5}")) {
            throw new EpUnavailableException(
                    "the rendezvous data of rank 0 from the launcher begins with \"" + lines[0] + "\" and has "
                            + lines.length + " lines, but must begin with \"" + FORM + "\" and have " + LINES
                            + "; run the same ep4j version on all ranks");
        }
        return new Rendezvous(
                lines[1], lines[2], Integer.parseInt(lines[3]), Secret.of(lines[4]), List.of(lines[5].split(" ", -1)));
    }

    /** What a rank on this machine tries, in this order. */
    List<InetAddress> candidates() {
        List<InetAddress> all = new ArrayList<>();
        if (!machine.isEmpty() && machine.equals(thisMachine())) {
            all.add(InetAddress.getLoopbackAddress());
        }
        for (String address : addresses) {
            try {
                // Literals, so no name service is asked.
                all.add(InetAddress.getByName(address));
            } catch (UnknownHostException e) {
                throw new EpUnavailableException(
                        "the address \"" + address
                                + "\" that rank 0 passed on through the launcher is no IP address; run the same ep4j"
                                + " version on all ranks",
                        e);
            }
        }
        return all.isEmpty() ? List.of(InetAddress.getLoopbackAddress()) : all;
    }

    private static String thisMachine() {
        try {
            return Files.readString(BOOT_ID, UTF_8).strip();
        } catch (IOException e) {
            // Without it a rank goes by way of the network, which leads here too.
            return "";
        }
    }

    /**
     * Addresses that others may reach: of preferred interfaces, then the one that this machine's name has, then IPv4, in the order of
     * interfaces. The second one is what this machine's name has, whatever number of addresses is preferred.
     */
    private static List<String> ownAddresses(ChosenInterfaces interfaces) {
        try {
            InetAddress named = named();
            List<String> all = NetworkInterface.networkInterfaces()
                    .filter(Rendezvous::isUp)
                    .sorted(Comparator.comparing(NetworkInterface::isVirtual).thenComparing(NetworkInterface::getIndex))
                    .flatMap(NetworkInterface::inetAddresses)
                    .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
                    .sorted(Comparator.<InetAddress, Boolean>comparing(address -> !interfaces.has(address))
                            .thenComparing(address -> !address.equals(named))
                            .thenComparing(address -> address.getAddress().length))
                    .map(Rendezvous::text)
                    .collect(Collectors.toCollection(ArrayList::new));
            int at = all.indexOf(text(named));
            if (at > 1) {
                all.add(1, all.remove(at));
            }
            return List.copyOf(all);
        } catch (SocketException e) {
            return List.of();
        }
    }

    /** The scope of an address means nothing on another machine. */
    private static String text(InetAddress address) {
        return address.getHostAddress().replaceFirst("%.*", "");
    }

    private static InetAddress named() {
        try {
            return InetAddress.getLocalHost();
        } catch (UnknownHostException e) {
            return InetAddress.getLoopbackAddress();
        }
    }

    private static boolean isUp(NetworkInterface network) {
        try {
            return network.isUp() && !network.isLoopback();
        } catch (SocketException e) {
            return false;
        }
    }
}
