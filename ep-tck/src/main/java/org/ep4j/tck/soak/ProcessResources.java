package org.ep4j.tck.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The resources of this process: descriptors by their files, threads by name, mappings by file. Numbers are cut out of names, so that
 * resources of a kind count together.
 *
 * @param counts number of each
 */
record ProcessResources(Map<String, Integer> counts) {
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
    private static final Path MAPPINGS = Path.of("/proc/self/maps");

    /** Name of the threads that wait for child processes, which the JVM keeps for a minute. */
    private static final String REAPER = "process reaper";

    /** Suffix of the kernel for a deleted file, which is held all the same. */
    private static final String DELETED = " (deleted)";

    private static final Duration STEP = Duration.ofMillis(20);

    /** Equal readings in a row that count as settled. */
    private static final int READINGS = 3;

    /**
     * Returns the resources once they no longer change.
     *
     * @param timeout longest wait for that
     */
    static ProcessResources settled(Duration timeout) {
        long end = System.nanoTime() + timeout.toNanos();
        ProcessResources last = now();
        int same = 0;
        while (same < READINGS && System.nanoTime() - end < 0 && pause()) {
            ProcessResources next = now();
            same = next.equals(last) ? same + 1 : 0;
            last = next;
        }
        return last;
    }

    private static boolean pause() {
        try {
            Thread.sleep(STEP.toMillis());
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Returns the resources now. */
    static ProcessResources now() {
        Map<String, Integer> counts = new TreeMap<>();
        try (Stream<Path> all = Files.list(DESCRIPTORS)) {
            all.forEach(descriptor -> add(counts, "descriptor of ", target(descriptor)));
        } catch (IOException e) {
            // Not Linux: nothing to count.
        }
        try (Stream<String> all = Files.lines(MAPPINGS)) {
            all.map(line -> line.split(" +", 6))
                    .filter(parts -> parts.length == 6 && parts[5].startsWith("/"))
                    .forEach(parts -> add(counts, "mapping of ", parts[5]));
        } catch (IOException e) {
            // Not Linux: nothing to count.
        }
        Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> !name.startsWith(REAPER))
                .forEach(name -> add(counts, "thread ", name));
        return new ProcessResources(counts);
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            // The descriptor that listed the folder is closed by now.
            return "";
        }
    }

    private static void add(Map<String, Integer> counts, String kind, String name) {
        if (!name.isEmpty() && !name.startsWith("/proc/")) {
            String file = name.endsWith(DELETED) ? name.substring(0, name.length() - DELETED.length()) : name;
            counts.merge(kind + file.replaceAll("[0-9a-f]*[0-9][0-9a-f]*", "#"), 1, Integer::sum);
        }
    }

    /**
     * Returns the resources of now that exceed these, once no more of them are released.
     *
     * @param timeout longest wait for threads and descriptors that are being released
     * @return empty when no resource is left
     */
    String grown(Duration timeout) {
        long end = System.nanoTime() + timeout.toNanos();
        while (true) {
            String more = beyond(now());
            if (more.isEmpty() || System.nanoTime() - end >= 0 || !pause()) {
                return more;
            }
        }
    }

    private String beyond(ProcessResources later) {
        return later.counts.entrySet().stream()
                .filter(one -> one.getValue() > counts.getOrDefault(one.getKey(), 0))
                .map(one -> one.getKey() + ": " + counts.getOrDefault(one.getKey(), 0) + " before, " + one.getValue()
                        + " after")
                .collect(Collectors.joining("; "));
    }
}
