package org.ep4j.engine.proxy;

import java.util.function.BooleanSupplier;

/** Waits in tests, for a minute at most. */
final class Await {
    private static final long NANOS = 60_000_000_000L;

    private Await() {}

    static void until(BooleanSupplier condition) {
        long end = System.nanoTime() + NANOS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("not within a minute");
            }
            Thread.onSpinWait();
        }
    }
}
