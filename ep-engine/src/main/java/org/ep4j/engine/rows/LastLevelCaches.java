package org.ep4j.engine.rows;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The last-level caches of a host, each of which some of its hardware threads share.
 *
 * @param bytes of one
 * @param count how many there are
 * @param threads hardware threads that share one
 */
record LastLevelCaches(long bytes, int count, int threads) {
    /** Where Linux describes the caches of each hardware thread. */
    private static final Path FOLDER = Path.of("/sys/devices/system/cpu");

    /** Assumed where nothing is known: no more than a core of a server has. */
    private static final LastLevelCaches UNKNOWN = new LastLevelCaches(2 << 20, 1, 1);

    private static final Pattern SIZE = Pattern.compile("(\\d{1,9})([KMG]?)");
    private static final Pattern RANGE = Pattern.compile("(\\d{1,5})(?:-(\\d{1,5}))?");

    /** The largest cache of a hardware thread, and all that share it. */
    private record Cache(long bytes, BitSet threads) {}

    static LastLevelCaches ofThisHost() {
        return of(FOLDER);
    }

    /**
     * Reads the caches of a host; caches that cannot be read count as unknown.
     *
     * @param folder with a folder {@code cpu0/cache} and so on
     */
    static LastLevelCaches of(Path folder) {
        long bytes = 0;
        int count = 0;
        BitSet seen = new BitSet();
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(folder, "cpu[0-9]*")) {
            for (Path thread : threads) {
                int number = Integer.parseInt(thread.getFileName().toString().substring("cpu".length()));
                Optional<Cache> largest = seen.get(number) ? Optional.empty() : largest(thread.resolve("cache"));
                if (largest.isPresent()) {
                    bytes += largest.get().bytes;
                    count++;
                    seen.or(largest.get().threads);
                    seen.set(number);
                }
            }
        } catch (IOException | DirectoryIteratorException | NumberFormatException e) {
            return UNKNOWN;
        }
        return count == 0 ? UNKNOWN : new LastLevelCaches(bytes / count, count, seen.cardinality() / count);
    }

    private static Optional<Cache> largest(Path folder) throws IOException {
        Optional<Cache> largest = Optional.empty();
        if (!Files.isDirectory(folder)) {
            return largest;
        }
        try (DirectoryStream<Path> caches = Files.newDirectoryStream(folder, "index*")) {
            for (Path cache : caches) {
                Optional<Cache> read = read(cache);
                if (read.isPresent()
                        && read.get().bytes > largest.map(Cache::bytes).orElse(0L)) {
                    largest = read;
                }
            }
        }
        return largest;
    }

    private static Optional<Cache> read(Path cache) throws IOException {
        Matcher size = SIZE.matcher(text(cache.resolve("size")));
        if (!size.matches()) {
            return Optional.empty();
        }
        int shift = 10 * " KMG".indexOf(size.group(2).isEmpty() ? " " : size.group(2));
        return Optional.of(
                new Cache(Long.parseLong(size.group(1)) << shift, numbers(text(cache.resolve("shared_cpu_list")))));
    }

    private static String text(Path file) throws IOException {
        return Files.exists(file) ? Files.readString(file).strip() : "";
    }

    /** Reads {@code 0-3,8}. */
    private static BitSet numbers(String list) {
        BitSet numbers = new BitSet();
        for (String range : List.of(list.split(",", -1))) {
            Matcher matcher = RANGE.matcher(range);
            if (matcher.matches()) {
                int first = Integer.parseInt(matcher.group(1));
                int last = matcher.group(2) == null ? first : Integer.parseInt(matcher.group(2));
                numbers.set(first, Math.max(first, last) + 1);
            }
        }
        return numbers;
    }

    /**
     * Bytes of a cache for each rank of the host, when all work at once and are spread evenly over the caches.
     *
     * @param ranks of the host, at least 1
     */
    long share(int ranks) {
        return bytes / Math.min((ranks + count - 1) / count, threads);
    }
}
