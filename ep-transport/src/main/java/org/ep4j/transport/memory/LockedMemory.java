package org.ep4j.transport.memory;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How much memory this process may lock, which registering does ({@code RLIMIT_MEMLOCK}); any amount with CAP_IPC_LOCK, as root
 * has it.
 *
 * @param bytes the limit; {@link #ANY} where there is none
 * @param exempt whether the process has CAP_IPC_LOCK
 */
public record LockedMemory(long bytes, boolean exempt) {
    /** No limit. */
    public static final long ANY = Long.MAX_VALUE;

    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Pattern LIMIT = Pattern.compile("(?m)^Max locked memory\\s+(\\S+)");
    private static final Pattern EFFECTIVE = Pattern.compile("(?m)^CapEff:\\s+([0-9a-fA-F]{1,16})");
    private static final long CAP_IPC_LOCK = 1L << 14;

    /**
     * Reads the limit of this process.
     *
     * @throws IOException when the kernel does not report it
     */
    public static LockedMemory ofThisProcess() throws IOException {
        return of(Files.readString(LIMITS, UTF_8), Files.readString(STATUS, UTF_8));
    }

    /**
     * Reads the limit from the files {@code limits} and {@code status} of a process.
     *
     * @throws IOException when a number cannot be read
     */
    public static LockedMemory of(String limits, String status) throws IOException {
        try {
            Matcher limit = LIMIT.matcher(limits);
            String text = limit.find() ? limit.group(1) : "unlimited";
            Matcher effective = EFFECTIVE.matcher(status);
            boolean exempt = effective.find() && (Long.parseUnsignedLong(effective.group(1), 16) & CAP_IPC_LOCK) != 0;
            return new LockedMemory(text.equals("unlimited") ? ANY : Long.parseLong(text), exempt);
        } catch (NumberFormatException e) {
            throw new IOException(LIMITS + " has no number: " + e.getMessage(), e);
        }
    }

    /** Returns how much memory this process may lock, for messages. */
    public static String describe() {
        try {
            return ofThisProcess().toString();
        } catch (IOException e) {
            return LIMITS + " does not state how much memory the process may lock";
        }
    }

    /** Returns true if the process may lock less than a number of bytes. */
    public boolean below(long wanted) {
        return !exempt && bytes < wanted;
    }

    @Override
    public String toString() {
        if (exempt) {
            return "the process may lock any amount of memory (capability IPC_LOCK)";
        }
        if (bytes == ANY) {
            return "the process may lock any amount of memory";
        }
        return bytes < 1 << 20
                ? String.format(Locale.ROOT, "the process may lock at most %d KiB of memory", bytes >> 10)
                : String.format(Locale.ROOT, "the process may lock at most %d MiB of memory", bytes >> 20);
    }
}
