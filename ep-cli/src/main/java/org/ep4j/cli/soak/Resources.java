package org.ep4j.cli.soak;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * What this process holds: descriptors, threads and mappings of shared memory, counted by kind. What the JVM opens, starts and
 * maps by itself is left out.
 */
final class Resources {
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
    private static final Path MAPPINGS = Path.of("/proc/self/maps");
    private static final Pattern NUMBER = Pattern.compile("\\b[0-9a-f]*[0-9][0-9a-f]*\\b");

    /** Class files and fonts come when a class is used first, the JVM's threads when there is work for them. */
    private static final Pattern OF_THE_JVM = Pattern.compile(
            "fd .*(\\.jar|/modules|/lib/.*|/proc/.*)|thread (process reaper|ForkJoinPool.*|Attach Listener|Common-Cleaner"
                    + "|Cleaner-.*|Signal Dispatcher|DestroyJavaVM|Notification Thread).*");

    private static final Set<String> SHARED_MEMORY = Set.of("ep4j-", "/dev/infiniband", "/dev/nvidia");

    private final Map<String, Integer> byKind;

    /**
     * Totals.
     *
     * @param descriptors open files and sockets
     * @param threads of Java
     * @param mappings of shared memory and devices
     */
    record Count(int descriptors, int threads, int mappings) {}

    /** More of one kind than before. */
    record Growth(String kind, int count, int before) {
        /** For people. */
        @Override
        public String toString() {
            return kind + ": " + count + ", " + before + " before";
        }
    }

    private Resources(Map<String, Integer> byKind) {
        this.byKind = byKind;
    }

    /** Takes stock. */
    static Resources now() {
        Map<String, Integer> found = new TreeMap<>();
        Thread.getAllStackTraces().keySet().forEach(thread -> add(found, "thread " + thread.getName()));
        try (DirectoryStream<Path> links = Files.newDirectoryStream(DESCRIPTORS)) {
            for (Path link : links) {
                add(found, "fd " + target(link));
            }
            for (String line : Files.readAllLines(MAPPINGS)) {
                if (SHARED_MEMORY.stream().anyMatch(line::contains)) {
                    add(found, "mapping " + line.substring(line.indexOf('/')));
                }
            }
        } catch (IOException e) {
            // Without /proc there are threads to count, and nothing else.
            System.getLogger(Resources.class.getName()).log(System.Logger.Level.DEBUG, "no /proc", e);
        }
        return new Resources(found);
    }

    private static String target(Path link) {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (IOException e) {
            // Closed meanwhile: that of this listing is.
            return "/proc/self/fd";
        }
    }

    private static void add(Map<String, Integer> found, String what) {
        if (!OF_THE_JVM.matcher(what).matches()) {
            found.merge(NUMBER.matcher(what).replaceAll("#"), 1, Integer::sum);
        }
    }

    /** The larger number of each kind. */
    Resources orMore(Resources other) {
        Map<String, Integer> most = new TreeMap<>(byKind);
        other.byKind.forEach((kind, count) -> most.merge(kind, count, Math::max));
        return new Resources(most);
    }

    /** What is here in excess of {@code before}. */
    List<Growth> beyond(Resources before) {
        List<Growth> more = new ArrayList<>();
        byKind.forEach((kind, count) -> {
            int had = before.byKind.getOrDefault(kind, 0);
            if (count > had) {
                more.add(new Growth(kind, count, had));
            }
        });
        return more;
    }

    Count count() {
        return new Count(sum("fd "), sum("thread "), sum("mapping "));
    }

    private int sum(String prefix) {
        return byKind.entrySet().stream()
                .filter(e -> e.getKey().startsWith(prefix))
                .mapToInt(Map.Entry::getValue)
                .sum();
    }
}
