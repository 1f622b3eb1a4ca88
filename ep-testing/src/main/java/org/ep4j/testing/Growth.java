package org.ep4j.testing;

import java.lang.management.ManagementFactory;
import java.util.stream.IntStream;

/** How the time of work grows with its size, whatever the speed of the machine. */
public final class Growth {
    private static final int ROUNDS = 3;
    private static final int ATTEMPTS = 4;

    /** Several steps of the coarsest clocks, which count the processor's time in hundredths of a second. */
    private static final long LEAST_NANOS = 50_000_000;

    private Growth() {}

    /**
     * Returns how many times as long larger work takes as smaller work; measures again where that is more than {@code most}.
     *
     * @param most the ratio that is expected at most
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

    /** Gives the time of one of several runs. */
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

    /** Reads the time that the processor gave this thread, which other work on the machine changes little. */
    private static long now() {
        long nanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        if (nanos <= 0) {
            throw new IllegalStateException("the JVM says that this thread has had " + nanos
                    + " ns of processor time; run on a JVM that measures it (ThreadMXBean.isThreadCpuTimeEnabled)");
        }
        return nanos;
    }
}
