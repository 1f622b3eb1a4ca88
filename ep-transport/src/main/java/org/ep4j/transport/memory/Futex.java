package org.ep4j.transport.memory;

import com.sun.jna.Native;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.ep4j.EpUnavailableException;

/**
 * Lets threads sleep until a word in memory changes, and wakes them, by the {@code futex} system call of Linux. The memory may be shared
 * between processes, each of which maps it at an address of its own. For any thread.
 */
public final class Futex {
    /** Number of the system call by {@code os.arch}: asm/unistd_64.h and asm-generic/unistd.h of Linux. */
    private static final Map<String, Long> CALLS = Map.of("amd64", 202L, "aarch64", 98L);

    private static final long WAIT = 0;
    private static final long WAKE = 1;

    /** Numbers of errors of a sleep that ended as it may, or did not begin: interrupted, another value, time over (errno-base.h, errno.h). */
    private static final Set<Integer> ENDS = Set.of(4, 11, 110);

    private final SystemCalls calls;
    private final long number;
    private final NativeRecord longest = new NativeRecord(2 * Long.BYTES);

    private Futex(SystemCalls calls, long number, Duration longest) {
        this.calls = calls;
        this.number = number;
        this.longest.buffer().putLong(0, longest.toSeconds()).putLong(Long.BYTES, longest.toNanosPart());
    }

    /** {@code syscall(2)} with integers only, which C passes in the same way with and without a prototype. */
    private static final class SystemCalls {
        SystemCalls() {
            NativeMethods.bindToC(SystemCalls.class);
        }

        native long syscall(long number, long word, long operation, long value, long timeout, long second, long third);
    }

    /**
     * Returns the system call of this machine; empty where its number is not known, or nothing native can be called.
     *
     * @param longest after which a sleep ends in any case
     */
    public static Optional<Futex> ofThisMachine(Duration longest) {
        Long number = CALLS.get(System.getProperty("os.arch"));
        if (number == null || !System.getProperty("os.name").equals("Linux")) {
            return Optional.empty();
        }
        try {
            return Optional.of(new Futex(new SystemCalls(), number, longest));
        } catch (EpUnavailableException | LinkageError e) {
            return Optional.empty();
        }
    }

    /**
     * Sleeps until {@link #wake} is called for a 32-bit word, unless the word has another value already. May return early, without a
     * reason.
     *
     * @param address of the word, a multiple of 4
     * @param value that the word has for as long as there is a reason to sleep
     * @return false where the system refuses to let threads sleep for this word
     */
    boolean sleep(long address, int value) {
        return calls.syscall(number, address, WAIT, Integer.toUnsignedLong(value), longest.address(), 0, 0) == 0
                || ENDS.contains(Native.getLastError());
    }

    /** Wakes all threads of all processes that {@link #sleep} for a word. */
    void wake(long address) {
        calls.syscall(number, address, WAKE, Integer.MAX_VALUE, 0, 0, 0);
    }
}
