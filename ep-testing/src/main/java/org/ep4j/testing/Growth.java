package org.ep4j.testing;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.stream.IntStream;

/** How the time of work grows with its size, whatever the speed of the machine. */
public final class Growth {
    private static final int ROUNDS = 3;
    private static final int ATTEMPTS = 4;

    private Growth() {}

    /**
     * Time of larger work in parts of that of smaller work; measured again where it is larger than it should be.
     *
     * @param most what it should be at most
     */
    public static double of(Runnable smaller, Runnable larger, double most) {
        double least = Double.MAX_VALUE;
        for (int attempt = 0; attempt < ATTEMPTS && least > most; attempt++) {
            least = Math.min(least, (double) median(larger) / median(smaller));
        }
        return least;
    }

    /** Time of the processor, which what else runs on the machine changes little. */
    private static long median(Runnable work) {
        ThreadMXBean thread = ManagementFactory.getThreadMXBean();
        return IntStream.range(0, ROUNDS)
                .mapToLong(round -> {
                    long start = thread.getCurrentThreadCpuTime();
                    work.run();
                    return thread.getCurrentThreadCpuTime() - start;
                })
                .sorted()
                .skip(ROUNDS / 2)
                .findFirst()
                .orElseThrow();
    }
}
