package org.ep4j.engine.bootstrap;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Detects whether other people use this machine. */
final class LocalUsers {
    private static final Path PROC = Path.of("/proc");
    private static final Path SUBORDINATE = Path.of("/etc/subuid");

    /** First user id of people on Linux. */
    private static final int FIRST_PERSON = 1000;

    /** First user id that systemd assigns to services ("Users, Groups, UIDs and GIDs on systemd Systems"). */
    private static final int FIRST_SERVICE = 60_514;

    /** Last user id before those of directory services and of users of containers; the one before it is {@code nobody}. */
    private static final int LAST_SERVICE = 65_535;

    private LocalUsers() {}

    /** Returns whether a process of another person runs; false if that cannot be determined. */
    static boolean othersHaveProcesses() {
        try (Stream<Path> processes = Files.list(PROC)) {
            int own = user(PROC.resolve("self"));
            List<String> subordinate = Files.isReadable(SUBORDINATE) ? Files.readAllLines(SUBORDINATE) : List.of();
            String name = System.getProperty("user.name", "");
            return processes
                    .filter(path -> path.getFileName().toString().matches("\\d+"))
                    .mapToInt(LocalUsers::user)
                    .anyMatch(user -> isOtherPerson(user, own, name, subordinate));
        } catch (IOException | UncheckedIOException | UnsupportedOperationException e) {
            return false;
        }
    }

    /**
     * Returns whether a user is a person, by its id, and not this process's user.
     *
     * @param own id of this process's user
     * @param name of this process's user
     * @param subordinate lines of subuid(5): ids of the containers of users
     */
    static boolean isOtherPerson(int user, int own, String name, List<String> subordinate) {
        if (user < FIRST_PERSON || (user >= FIRST_SERVICE && user <= LAST_SERVICE) || user == own) {
            return false;
        }
        for (String line : subordinate) {
            List<String> fields = List.of(line.split(":", -1));
            if (fields.size() == 3
                    && (fields.get(0).equals(name) || fields.get(0).equals(Integer.toString(own)))
                    && fields.get(1).matches("\\d{1,18}")
                    && fields.get(2).matches("\\d{1,18}")
                    && user >= Long.parseLong(fields.get(1))
                    && user - Long.parseLong(fields.get(1)) < Long.parseLong(fields.get(2))) {
                return false;
            }
        }
        return true;
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
