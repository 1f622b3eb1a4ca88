package org.ep4j.transport.memory;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** Releases resources, the newest first. Safe for use from several threads. */
public final class Resources implements AutoCloseable {
    private final Deque<Runnable> release = new ArrayDeque<>();
    private final List<WordMemory> held = new ArrayList<>();

    /** Creates an empty list. */
    public Resources() {}

    /** Adds the release of a resource. */
    public synchronized void add(Runnable run) {
        release.push(run);
    }

    /** Keeps memory that a NIC knows reachable until everything is released. */
    public synchronized void hold(WordMemory memory) {
        held.add(memory);
    }

    /** Releases everything. A second call does nothing. */
    @Override
    public synchronized void close() {
        while (!release.isEmpty()) {
            release.pop().run();
        }
        held.clear();
    }
}
