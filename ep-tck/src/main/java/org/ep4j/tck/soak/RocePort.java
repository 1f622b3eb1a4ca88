package org.ep4j.tck.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.ep4j.tck.crew.Shell;

/** A RoCE port on Linux, which is down while its network device is. Taking it down requires CAP_NET_ADMIN and ip(8). */
final class RocePort {
    /** Where Linux describes NICs. */
    static final Path NICS = Path.of("/sys/class/infiniband");

    private static final String ACTIVE = "4:";
    private static final long LOOK_MILLIS = 20;
    private static final Duration UP = Duration.ofSeconds(30);

    private final String name;
    private final Path files;
    private final String device;

    private RocePort(String name, Path files, String device) {
        this.name = name;
        this.files = files;
        this.device = device;
    }

    /**
     * A port.
     *
     * @param nics the folder that describes NICs
     * @param name as plans have it: mlx5_0:1
     * @return empty if it has no network device
     */
    static Optional<RocePort> of(Path nics, String name) {
        int colon = name.lastIndexOf(':');
        Path files = nics.resolve(name.substring(0, colon)).resolve("ports").resolve(name.substring(colon + 1));
        return read(files.resolve("gid_attrs/ndevs/0")).map(device -> new RocePort(name, files, device));
    }

    /**
     * Why this process cannot take down one of some ports while traffic goes over the others; empty if it can.
     *
     * @param nics the folder that describes NICs
     * @param routes network devices that default routes use: without one, the machine could not be reached
     */
    static Optional<String> refusal(Path nics, List<String> ports, Set<String> routes) {
        if (ports.size() < 2) {
            return Optional.of("port-down needs a second port on each rank, but one has " + ports);
        }
        List<RocePort> found = new ArrayList<>();
        for (String name : ports) {
            Optional<RocePort> port = of(nics, name);
            if (port.isEmpty()) {
                return Optional.of("port-down needs RoCE ports with a network device, which " + name + " has not");
            }
            if (routes.contains(port.get().device)) {
                return Optional.of("port-down would take down the default route of this machine, " + port.get().device
                        + " of " + name + "; leave it out with ep.nic.exclude");
            }
            found.add(port.get());
        }
        try {
            // Takes the same right as to set it down, and changes nothing.
            found.forEach(RocePort::setUp);
            return Optional.empty();
        } catch (IllegalStateException e) {
            return Optional.of(
                    "port-down needs the command ip and the right to use it (CAP_NET_ADMIN, which root has outside of containers)");
        }
    }

    /** Network devices of this machine that default routes use. */
    static Set<String> defaultRoutes() {
        Set<String> devices = new TreeSet<>();
        devices.addAll(defaultRoutes(lines(Path.of("/proc/net/route")), 1, 0));
        devices.addAll(defaultRoutes(lines(Path.of("/proc/net/ipv6_route")), 0, 9));
        // The kernel's own route, which refuses what has none.
        devices.remove("lo");
        return devices;
    }

    private static Set<String> defaultRoutes(List<String> lines, int target, int device) {
        return lines.stream()
                .map(line -> line.trim().split("\\s+"))
                .filter(fields -> fields.length > Math.max(target, device) && fields[target].matches("0+"))
                .map(fields -> fields[device])
                .collect(Collectors.toSet());
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            // Without IPv6, for example.
            return List.of();
        }
    }

    private static Optional<String> read(Path file) {
        try {
            return Optional.of(Files.readString(file).trim());
        } catch (IOException e) {
            // No such port, or one that is not RoCE, or its NIC is gone.
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
     * Takes it down for a time, and returns once it is up again. One command does both, and outlives this process if that is killed
     * meanwhile.
     *
     * @param longest limit of all that is not the time
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
            // The command may have been ended before it got so far.
            try {
                setUp();
            } catch (IllegalStateException stays) {
                e.addSuppressed(stays);
            }
            throw e;
        }
    }

    /**
     * Waits until it is active, or is not.
     *
     * @throws IllegalStateException naming it if that takes longer than {@code longest}
     */
    void await(boolean active, Duration longest) {
        long end = System.nanoTime() + longest.toNanos();
        while (isActive() != active) {
            if (System.nanoTime() - end >= 0) {
                throw new IllegalStateException("port " + name + " is " + (active ? "not active" : "still active") + " "
                        + longest.toSeconds() + " s after its network device " + device + " was set "
                        + (active ? "up" : "down"));
            }
            try {
                Thread.sleep(LOOK_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while port " + name + " changes its state", e);
            }
        }
    }
}
