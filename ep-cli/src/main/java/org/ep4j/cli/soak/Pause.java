package org.ep4j.cli.soak;

/** Sleeping. */
final class Pause {
    private Pause() {}

    static void millis(long time) {
        if (time <= 0) {
            return;
        }
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted during a pause", e);
        }
    }
}
