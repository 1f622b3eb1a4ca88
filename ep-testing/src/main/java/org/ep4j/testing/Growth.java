package org.ep4j.testing;

import java.lang.management.ManagementFactory;
import java.util.stream.IntStream;

/** Measures how the time of work grows with its size, independently of the speed of the machine. */
public final class Growth {
    private static final int ROUNDS = 3;
    private static final int ATTEMPTS = 4;

    /** Several steps of the coarsest clocks, which count the processor's time in hundredths of a second. */
    private static final long LEAST_NANOS = 50_000_000;

    private Growth() {}

    /**
     * Returns the ratio of the times of larger and smaller work; measures again while it exceeds {@code most}.
     *
     * @param most largest expected ratio
     */
    public static double of(Runnable smaller, Runnable larger, double most) {
        int few = repeats(larger);
        int many = repeats(smaller);
        double least = Double.MAX_VALUE;
        for (int attempt = 0; attempt < ATTEMPTS && least > most; attempt++) {
            least = Math.min(least, median(larger, few) / median(smaller, many));
        }
        return least;
    }

    private static int repeats(Runnable work) {
        int repeats = 1;
        while (time(work, repeats) < LEAST_NANOS) {
            repeats = Math.multiplyExact(repeats, 2);
        }
        return repeats;
    }

    /** Returns the median time of several runs. */
    private static double median(Runnable work, int repeats) {
        long median = IntStream.range(0, ROUNDS)
                .mapToLong(round -> time(work, repeats))
                .sorted()
                .skip(ROUNDS / 2)
                .findFirst()
                .orElseThrow();
        return (double) median / repeats;
    }

    private static long time(Runnable work, int repeats) {
        long start = now();
        for (int i = 0; i < repeats; i++) {
            work.run();
        }
        return now() - start;
    }

    /** Returns the CPU time of this thread, which other work on the machine hardly affects. */
    private static long now() {
        long nanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        if (nanos <= 0) {
            throw new IllegalStateException("the JVM says that this thread has had " + nanos
                    + " ns of processor time; run on a JVM that measures it (ThreadMXBean.isThreadCpuTimeEnabled)");
        }
        return nanos;
    }
}
