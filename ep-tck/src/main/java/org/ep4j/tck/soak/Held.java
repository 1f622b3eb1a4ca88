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
 * What a process holds: descriptors by what they are open on, threads by name, mappings by file. Numbers are cut out of names, so that
 * things of a kind count together.
 *
 * @param counts how many of each
 */
record Held(Map<String, Integer> counts) {
    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");
    private static final Path MAPPINGS = Path.of("/proc/self/maps");

    /** Of the JVM: it keeps the thread that waits for a child process for a minute. */
    private static final String REAPER = "process reaper";

    /** Of the kernel, behind the name of a file that is gone: what is held is the same. */
    private static final String DELETED = " (deleted)";

    private static final Duration STEP = Duration.ofMillis(20);

    /** Looks in a row that see the same. */
    private static final int LOOKS = 3;

    /**
     * What this process holds once nothing comes or goes any more.
     *
     * @param patience longest wait for that
     */
    static Held settled(Duration patience) {
        long end = System.nanoTime() + patience.toNanos();
        Held last = now();
        int same = 0;
        while (same < LOOKS && System.nanoTime() - end < 0 && pause()) {
            Held next = now();
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

    /** What this process holds now. */
    static Held now() {
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
            // As above.
        }
        Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> !name.startsWith(REAPER))
                .forEach(name -> add(counts, "thread ", name));
        return new Held(counts);
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            // The descriptor that listed them is closed by now.
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
     * What this process holds beyond this, once nothing of it goes away any more.
     *
     * @param patience longest wait for threads and descriptors that are on their way out
     * @return empty when nothing is left
     */
    String grown(Duration patience) {
        long end = System.nanoTime() + patience.toNanos();
        while (true) {
            String more = beyond(now());
            if (more.isEmpty() || System.nanoTime() - end >= 0) {
                return more;
            }
            if (!pause()) {
                return more;
            }
        }
    }

    private String beyond(Held later) {
        return later.counts.entrySet().stream()
                .filter(one -> one.getValue() > counts.getOrDefault(one.getKey(), 0))
                .map(one -> one.getKey() + ": " + counts.getOrDefault(one.getKey(), 0) + " before, " + one.getValue()
                        + " after")
                .collect(Collectors.joining("; "));
    }
}
