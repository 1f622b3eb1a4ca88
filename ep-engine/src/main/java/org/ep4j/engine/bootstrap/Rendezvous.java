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
 * Address and secret of the rendezvous, which rank 0 sends to the others through a {@link org.ep4j.Bootstrap.Broadcast}.
 *
 * @param machine boot id of rank 0's machine, by which ranks on the same one recognise it; empty if unknown
 * @param host name of the machine, for messages
 * @param port of the rendezvous
 * @param secret of the job; not empty
 * @param addresses of the machine, likeliest first, as literals
 */
record Rendezvous(String machine, String host, int port, Secret secret, List<String> addresses) {
    private static final String FORM = "ep4j-rendezvous-1";
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    private static final int LINES = 6;

    /** Creates that of this machine; {@code own} is the only address on which it listens, empty for all. */
    static Rendezvous here(int port, Secret secret, Optional<InetAddress> own, ChosenInterfaces interfaces) {
        // With an address it does not listen on loopback, so ranks on this machine must not try that: no boot id.
        return own.isPresent()
                ? new Rendezvous("", hostName(), port, secret, List.of(text(own.get())))
                : new Rendezvous(thisMachine(), hostName(), port, secret, ownAddresses(interfaces));
    }

    /** Name of this machine; never one that resolves to loopback. */
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

    /** Addresses that a rank on this machine tries, in this order. */
    List<InetAddress> candidates() {
        List<InetAddress> all = new ArrayList<>();
        if (!machine.isEmpty() && machine.equals(thisMachine())) {
            all.add(InetAddress.getLoopbackAddress());
        }
        for (String address : addresses) {
            try {
                // A literal, so no name is resolved.
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
            // Without it a rank uses an address of the network.
            return "";
        }
    }

    /**
     * Addresses that others may reach: of preferred interfaces, then the address of this machine's name, then IPv4, in the order of
     * interfaces. The address of the name comes second at the latest.
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

    /** The address without its scope, which has no meaning on another machine. */
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
