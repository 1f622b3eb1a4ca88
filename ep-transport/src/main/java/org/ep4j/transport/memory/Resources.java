package org.ep4j.transport.memory;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** What is to be given back, the newest first. Safe for use from several threads. */
public final class Resources implements AutoCloseable {
    private final Deque<Runnable> release = new ArrayDeque<>();
    private final List<WordMemory> held = new ArrayList<>();

    /** Nothing yet. */
    public Resources() {}

    /** Adds what gives something back. */
    public synchronized void add(Runnable run) {
        release.push(run);
    }

    /** Refers to memory that a NIC knows until everything is given back. */
    public synchronized void hold(WordMemory memory) {
        held.add(memory);
    }

    /** Gives everything back. A second call does nothing. */
    @Override
    public synchronized void close() {
        while (!release.isEmpty()) {
            release.pop().run();
        }
        held.clear();
    }
}
