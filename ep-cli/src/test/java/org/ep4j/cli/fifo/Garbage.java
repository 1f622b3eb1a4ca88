package org.ep4j.cli.fifo;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/** A thread that allocates at a rate, and lets most of it go, so that the collector has work beside the measurement. */
final class Garbage {
    private static final int PIECE = 16 << 10;

    /** Pieces that live for a while: 64 MiB, which a collector copies or marks. */
    private static final int KEPT = 4096;

    private final Thread thread;
    private volatile boolean stop;

    /** Allocates so many megabytes (1e6 bytes) a second; 0 for none. */
    Garbage(int megabytes) {
        thread = new Thread(() -> run(megabytes), "ep-fifo-garbage");
        thread.setDaemon(true);
        if (megabytes > 0) {
            thread.start();
        }
    }

    private void run(int megabytes) {
        byte[][] kept = new byte[KEPT][];
        double perNano = megabytes / 1000.0;
        long start = System.nanoTime();
        long done = 0;
        for (int i = 0; !stop; i++) {
            kept[i % KEPT] = new byte[PIECE];
            done += PIECE;
            if (done > perNano * (System.nanoTime() - start)) {
                LockSupport.parkNanos(100_000);
            }
        }
    }

    /**
     * What collectors have done since the process began.
     *
     * @param names of them
     * @param collections how many
     * @param millis that they took, all together
     */
    record Collections(String names, long collections, long millis) {
        static Collections now() {
            List<GarbageCollectorMXBean> beans = ManagementFactory.getGarbageCollectorMXBeans();
            return new Collections(
                    beans.stream().map(GarbageCollectorMXBean::getName).collect(Collectors.joining(", ")),
                    beans.stream()
                            .mapToLong(GarbageCollectorMXBean::getCollectionCount)
                            .sum(),
                    beans.stream()
                            .mapToLong(GarbageCollectorMXBean::getCollectionTime)
                            .sum());
        }

        Collections since(Collections before) {
            return new Collections(names, collections - before.collections, millis - before.millis);
        }
    }

    /** Ends it. */
    void close() {
        stop = true;
        LockSupport.unpark(thread);
    }
}
