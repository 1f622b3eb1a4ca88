package org.ep4j.cli.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Network interfaces of RDMA ports. */
final class RdmaPorts {
    private static final Path DEVICES = Path.of("/sys/class/infiniband");
    private static final Path INTERFACES = Path.of("/sys/class/net");
    private static final int SECONDS = 10;

    private final Set<String> taken = ConcurrentHashMap.newKeySet();

    /** Names of the interfaces that are up, in their order. */
    List<String> interfaces() {
        List<String> names = new ArrayList<>();
        for (Path device : entries(DEVICES)) {
            for (Path port : entries(device.resolve("ports"))) {
                entries(port.resolve("gid_attrs/ndevs")).stream()
                        .map(RdmaPorts::text)
                        .filter(name -> !name.isEmpty() && !names.contains(name) && isUp(name))
                        .forEach(names::add);
            }
        }
        Collections.sort(names);
        return List.copyOf(names);
    }

    private static boolean isUp(String name) {
        return text(INTERFACES.resolve(name).resolve("operstate")).equals("up");
    }

    void down(String name) {
        taken.add(name);
        set(name, "down");
    }

    void up(String name) {
        set(name, "up");
        taken.remove(name);
    }

    /** Sets those up again that are down. */
    void allUp() {
        taken.forEach(this::up);
    }

    private static void set(String name, String state) {
        try {
            Process ip = new ProcessBuilder("ip", "link", "set", name, state)
                    .redirectErrorStream(true)
                    .start();
            String said = new String(ip.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!ip.waitFor(SECONDS, TimeUnit.SECONDS) || ip.exitValue() != 0) {
                throw new IllegalStateException("ip link set " + name + " " + state + " failed: " + said.strip());
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run ip link set " + name + " " + state, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while setting a link", e);
        }
    }

    private static List<Path> entries(Path folder) {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(folder)) {
            all.forEach(found::add);
        } catch (IOException e) {
            // No such device: nothing is found.
            return List.of();
        }
        return found;
    }

    /** Empty where there is nothing to read, as in entries of a table that are not in use. */
    private static String text(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            return "";
        }
    }
}
