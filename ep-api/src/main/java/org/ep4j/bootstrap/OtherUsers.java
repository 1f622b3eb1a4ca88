package org.ep4j.bootstrap;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.OptionalInt;
import java.util.Set;

/**
 * Users who have processes on this machine and could reach a port of its loopback. Numbers below 1000 are the system's own
 * accounts, whose services do not look for ports, and root needs no port; neither counts.
 */
final class OtherUsers {
    private static final int FIRST_PERSON = 1000;

    private OtherUsers() {}

    /** True when somebody else's process runs here; false too where {@code /proc} does not show it. */
    static boolean present() {
        try {
            Path proc = Path.of("/proc");
            return among(owners(proc), owner(proc.resolve("self")));
        } catch (IOException | UnsupportedOperationException e) {
            return false;
        }
    }

    static boolean among(Set<Integer> owners, int own) {
        return owners.stream().anyMatch(user -> user != own && user >= FIRST_PERSON);
    }

    private static Set<Integer> owners(Path proc) throws IOException {
        Set<Integer> owners = new HashSet<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(proc, "[0-9]*")) {
            for (Path process : processes) {
                ownerWhileItRuns(process).ifPresent(owners::add);
            }
        }
        return owners;
    }

    private static OptionalInt ownerWhileItRuns(Path process) {
        try {
            return OptionalInt.of(owner(process));
        } catch (IOException e) {
            return OptionalInt.empty();
        }
    }

    private static int owner(Path path) throws IOException {
        return (int) Files.getAttribute(path, "unix:uid");
    }
}
