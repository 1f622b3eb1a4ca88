package org.ep4j.backend.ibrc;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * How much memory this process may lock, which registering does ({@code RLIMIT_MEMLOCK}; processes with CAP_IPC_LOCK, as
 * root's are, may lock more).
 *
 * @param bytes the limit; {@link #ANY} where there is none
 */
record LockedMemory(long bytes) {
    static final long ANY = Long.MAX_VALUE;

    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final String ROW = "Max locked memory";

    /**
     * That of this process.
     *
     * @throws IOException when the kernel does not tell
     */
    static LockedMemory ofThisProcess() throws IOException {
        try (Stream<String> lines = Files.lines(LIMITS, StandardCharsets.UTF_8)) {
            String limit = lines.filter(line -> line.startsWith(ROW))
                    .map(line -> line.substring(ROW.length()).trim().replaceAll("\\s.*", ""))
                    .findFirst()
                    .orElse("unlimited");
            return new LockedMemory(limit.equals("unlimited") ? ANY : Long.parseLong(limit));
        } catch (NumberFormatException e) {
            throw new IOException(LIMITS + " has no number: " + e.getMessage(), e);
        }
    }

    /** For messages. */
    static String told() {
        try {
            return ofThisProcess().toString();
        } catch (IOException e) {
            return "the process may lock an amount of memory that " + LIMITS + " does not tell";
        }
    }

    @Override
    public String toString() {
        if (bytes == ANY) {
            return "the process may lock any amount of memory";
        }
        return bytes < 1 << 20
                ? String.format(Locale.ROOT, "the process may lock %d KiB of memory", bytes >> 10)
                : String.format(Locale.ROOT, "the process may lock %d MiB of memory", bytes >> 20);
    }
}
