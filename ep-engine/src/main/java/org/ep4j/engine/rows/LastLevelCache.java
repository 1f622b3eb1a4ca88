package org.ep4j.engine.rows;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The largest cache of a processor.
 *
 * @param bytes of it
 * @param processors hardware threads that share it
 */
record LastLevelCache(long bytes, int processors) {
    /** Where Linux describes the caches of the first processor. */
    private static final Path FOLDER = Path.of("/sys/devices/system/cpu/cpu0/cache");

    /** A share that is taken where nothing is known: no more than processors of servers have. */
    private static final LastLevelCache UNKNOWN = new LastLevelCache(2 << 20, 1);

    private static final Pattern SIZE = Pattern.compile("(\\d{1,9})([KMG]?)");

    static LastLevelCache ofThisProcessor() {
        return of(FOLDER);
    }

    /** What a folder in the manner of Linux says. */
    static LastLevelCache of(Path folder) {
        LastLevelCache largest = new LastLevelCache(0, 1);
        try (DirectoryStream<Path> caches = Files.newDirectoryStream(folder, "index*")) {
            for (Path cache : caches) {
                Optional<LastLevelCache> read = read(cache);
                if (read.isPresent() && read.get().bytes > largest.bytes) {
                    largest = read.get();
                }
            }
        } catch (IOException e) {
            return UNKNOWN;
        }
        return largest.bytes == 0 ? UNKNOWN : largest;
    }

    private static Optional<LastLevelCache> read(Path cache) throws IOException {
        Matcher size = SIZE.matcher(text(cache.resolve("size")));
        if (!size.matches()) {
            return Optional.empty();
        }
        int shift = 10 * " KMG".indexOf(size.group(2).isEmpty() ? " " : size.group(2));
        String map = text(cache.resolve("shared_cpu_map"));
        int processors = map.chars()
                .map(c -> Integer.bitCount(Math.max(0, Character.digit(c, 16))))
                .sum();
        return Optional.of(new LastLevelCache(Long.parseLong(size.group(1)) << shift, Math.max(1, processors)));
    }

    private static String text(Path file) throws IOException {
        return Files.exists(file) ? Files.readString(file).strip() : "";
    }

    /**
     * Bytes of it for each of so many threads that work at once on this host.
     *
     * @param threads at least 1
     */
    long share(int threads) {
        return bytes / Math.min(threads, processors);
    }
}
