package org.ep4j.cli.fifo;

import org.ep4j.engine.proxy.Command;

/** The commands of a run by their numbers, as {@code fifo_bench.cu} makes them too, and what their fields add up to. */
final class Pattern {
    /** Counter of a command that is answered, not added. */
    static final int PING_COUNTER = 63;

    private static final long UNIT = 16;

    private Pattern() {}

    private static long writeWord0(long target, long bytes) {
        return ((target / UNIT) << 28) | (bytes / UNIT);
    }

    private static long writeWord1(int peer, long source) {
        return ((long) Command.WRITE << 60) | ((long) peer << 44) | (source / UNIT);
    }

    static long advanceWord1(int peer, int counter) {
        return (long) Command.ADVANCE << 60 | (long) peer << 44 | counter;
    }

    private static boolean advances(long number) {
        return number % 8 == 7;
    }

    static long word0(long number) {
        return advances(number) ? number : writeWord0(target(number), bytes(number));
    }

    static long word1(long number) {
        return advances(number)
                ? advanceWord1(peer(number), counter(number))
                : writeWord1(peer(number), source(number));
    }

    private static int peer(long number) {
        return (int) (number & 63);
    }

    private static int counter(long number) {
        return (int) (number & 31);
    }

    private static long target(long number) {
        return (number & 0xfffffff) * UNIT;
    }

    private static long source(long number) {
        return (number & 0xffffff) * UNIT;
    }

    private static long bytes(long number) {
        return (1 + (number & 1023)) * UNIT;
    }

    static long ofWrite(int peer, long target, long source, long bytes) {
        return target + 3 * source + 5 * bytes + 7L * peer;
    }

    static long ofAdvance(int peer, int counter, long value) {
        return 11 * value + 13L * counter + 17L * peer;
    }

    /** What all commands below a number add up to. */
    static long sum(long count) {
        long sum = 0;
        for (long number = 0; number < count; number++) {
            sum += advances(number)
                    ? ofAdvance(peer(number), counter(number), number)
                    : ofWrite(peer(number), target(number), source(number), bytes(number));
        }
        return sum;
    }
}
