package org.ep4j.tck.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.ep4j.tck.oracle.Patience;
import org.ep4j.tck.ranks.Shell;

/** A RoCE port on Linux, which is down while its network device is. Taking it down requires CAP_NET_ADMIN and ip(8). */
final class RocePort {
    /** Root of the file system with {@code /sys} and {@code /proc}. */
    static final Path ROOT = Path.of("/");

    /** Longest time to set a network device up. */
    static final Duration UP = Patience.scaled(Duration.ofSeconds(30));

    private static final String ACTIVE = "4:";
    private static final long POLL_MILLIS = 20;

    private final String name;
    private final Path files;
    private final String device;

    private RocePort(String name, Path files, String device) {
        this.name = name;
        this.files = files;
        this.device = device;
    }

    /**
     * Returns a port.
     *
     * @param root with {@code /sys}
     * @param name as in plans: mlx5_0:1
     * @return empty if the port has no network device
     */
    static Optional<RocePort> of(Path root, String name) {
        int colon = name.lastIndexOf(':');
        Path files = root.resolve("sys/class/infiniband")
                .resolve(name.substring(0, colon))
                .resolve("ports")
                .resolve(name.substring(colon + 1));
        return read(files.resolve("gid_attrs/ndevs/0")).map(device -> new RocePort(name, files, device));
    }

    /**
     * Returns why this process cannot take down one of some ports while traffic uses the others; empty if it can.
     *
     * @param root with {@code /sys} and {@code /proc}
     * @param ports names, as in plans
     */
    static Optional<String> refusal(Path root, List<String> ports) {
        Map<String, RocePort> byDevice = new LinkedHashMap<>();
        for (String name : ports) {
            Optional<RocePort> port = of(root, name);
            if (port.isEmpty()) {
                return refused("port " + name
                        + " has no network device, so it is not a RoCE port; leave it out with ep.nic.exclude");
            }
            Optional<String> needed = port.get().needed(root);
            if (needed.isPresent()) {
                return refused("network device " + port.get().device + " of port " + name + " " + needed.get()
                        + "; leave the port out with ep.nic.exclude");
            }
            byDevice.put(port.get().device, port.get());
        }
        if (byDevice.size() < 2) {
            return refused("the ports " + ports + " of a rank belong to " + byDevice.size()
                    + " network devices, must be >= 2; use a machine with more RoCE ports");
        }
        try {
            // Requires the same capability as taking them down, and changes nothing.
            byDevice.values().forEach(RocePort::setUp);
            return Optional.empty();
        } catch (IllegalStateException e) {
            return refused(
                    "network devices " + byDevice.keySet() + " cannot be brought up: " + e.getMessage()
                            + "; the fault port-down needs ip(8) and CAP_NET_ADMIN (root has CAP_NET_ADMIN outside of containers)");
        }
    }

    private static Optional<String> refused(String why) {
        return Optional.of("the fault port-down cannot be injected here: " + why);
    }

    /** Returns why the machine needs the network device, if it does. */
    private Optional<String> needed(Path root) {
        try {
            if (hasDefaultRoute(Files.readAllLines(root.resolve("proc/net/route")))) {
                return Optional.of("has a default route of this machine");
            }
            Path net = root.resolve("sys/class/net").resolve(device);
            if (Files.isDirectory(net)) {
                try (Stream<Path> files = Files.list(net)) {
                    return files.map(file -> file.getFileName().toString())
                            .filter(file -> file.equals("master") || file.startsWith("upper_"))
                            .findFirst()
                            .map(file -> "is part of another network device (" + file + ")");
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("may be needed by this machine, but the check failed: " + e);
        }
    }

    /** Lines of {@code /proc/net/route}: interface, target, gateway, flags, references, uses, metric, mask, ... */
    private boolean hasDefaultRoute(List<String> lines) {
        return lines.stream()
                .map(line -> line.trim().split("\\s+"))
                .anyMatch(fields -> fields.length > 7
                        && fields[0].equals(device)
                        && fields[1].matches("0+")
                        && fields[7].matches("0+"));
    }

    private static Optional<String> read(Path file) {
        try {
            return Optional.of(Files.readString(file).trim());
        } catch (IOException e) {
            // No such port, or not a RoCE port, or its NIC was removed.
            return Optional.empty();
        }
    }

    boolean isActive() {
        return read(files.resolve("state"))
                .filter(state -> state.startsWith(ACTIVE))
                .isPresent();
    }

    private void setUp() {
        Shell.run("ip link set dev " + device + " up", UP);
    }

    /**
     * Takes the port down for a time, and returns once it is up again. One command does both, and outlives this process if that is killed
     * meanwhile.
     *
     * @param longest limit of the rest of the command
     */
    void takeDown(Duration time, Duration longest) {
        try {
            Shell.run(
                    String.format(
                            Locale.ROOT,
                            "trap '' INT TERM HUP; ip link set dev %1$s down || exit 1; sleep %2$.3f;"
                                    + " ip link set dev %1$s up",
                            device,
                            time.toNanos() / 1e9),
                    time.plus(longest));
        } catch (IllegalStateException e) {
            // The command may have ended before it brought the port up.
            try {
                setUp();
            } catch (IllegalStateException stays) {
                e.addSuppressed(stays);
            }
            throw e;
        }
    }

    /**
     * Waits until the port is active, or is not.
     *
     * @param over ends the wait early
     * @throws IllegalStateException naming the port, if the wait takes longer than {@code longest}
     */
    void await(boolean active, Duration longest, BooleanSupplier over) {
        long end = System.nanoTime() + longest.toNanos();
        while (isActive() != active && !over.getAsBoolean()) {
            if (System.nanoTime() - end >= 0) {
                throw new IllegalStateException("port " + name + " is " + (active ? "not active" : "still active") + " "
                        + longest.toSeconds() + " s after its network device " + device + " was brought "
                        + (active ? "up" : "down"));
            }
            try {
                Thread.sleep(POLL_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while port " + name + " changes its state", e);
            }
        }
    }
}
