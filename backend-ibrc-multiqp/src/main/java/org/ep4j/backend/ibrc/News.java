package org.ep4j.backend.ibrc;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BooleanSupplier;

/** What any thread wants done, for the one thread that may do it. */
final class News {
    private final Queue<Runnable> waiting = new ConcurrentLinkedQueue<>();

    /** A look at it costs less than one at the queue. */
    private volatile boolean any;

    /** From any thread. */
    void add(Runnable one) {
        waiting.add(one);
        any = true;
    }

    /** True where something may wait. */
    boolean any() {
        return any;
    }

    /** Does everything, in order, while it is wanted; drops the rest. For one thread at a time. */
    void run(BooleanSupplier wanted) {
        // First, so that what is added from here on is told of again.
        any = false;
        for (Runnable next = waiting.poll(); next != null; next = waiting.poll()) {
            if (wanted.getAsBoolean()) {
                next.run();
            }
        }
    }
}
