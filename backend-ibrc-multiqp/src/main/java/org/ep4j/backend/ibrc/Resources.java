package org.ep4j.backend.ibrc;

import java.util.ArrayDeque;
import java.util.Deque;

/** What is to be given back, the newest first. Safe for use from several threads. */
final class Resources implements AutoCloseable {
    private final Deque<Runnable> release = new ArrayDeque<>();

    synchronized void add(Runnable run) {
        release.push(run);
    }

    /** Gives everything back. A second call does nothing. */
    @Override
    public synchronized void close() {
        while (!release.isEmpty()) {
            release.pop().run();
        }
    }
}
