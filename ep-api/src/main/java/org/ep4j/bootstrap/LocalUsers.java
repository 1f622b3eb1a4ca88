package org.ep4j.bootstrap;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Who else uses this machine. */
final class LocalUsers {
    private static final Path PROC = Path.of("/proc");

    /** Ids of people begin here on Linux; below are those of the system's services. */
    private static final int FIRST_PERSON = 1000;

    /** Behind these are users that systemd makes for services, users of containers, and nobody. */
    private static final int LAST_PERSON = 60_000;

    private LocalUsers() {}

    /** True if a process of another person runs; false where that cannot be seen. */
    static boolean othersHaveProcesses() {
        try (Stream<Path> processes = Files.list(PROC)) {
            int own = user(PROC.resolve("self"));
            return processes
                    .filter(path -> path.getFileName().toString().matches("\\d+"))
                    .mapToInt(LocalUsers::user)
                    .anyMatch(user -> user >= FIRST_PERSON && user <= LAST_PERSON && user != own);
        } catch (IOException | UncheckedIOException | UnsupportedOperationException e) {
            return false;
        }
    }

    private static int user(Path path) {
        try {
            return (Integer) Files.getAttribute(path, "unix:uid");
        } catch (IOException e) {
            // The process has ended meanwhile.
            return 0;
        }
    }
}
