package org.ep4j.cli.fifo;

import java.util.List;
import org.ep4j.Device;

/**
 * What is measured.
 *
 * @param device that puts commands; {@code host} for threads in its place
 * @param threads that take; one measurement for each number
 * @param rings of each thread
 * @param ringCommands of a ring, a power of two
 * @param producers to each ring, 0 for the device's own number
 * @param commands of a run
 * @param repeats of each run
 * @param pings round trips
 * @param garbage MB/s that a thread allocates beside
 * @param library built from {@code proxy.cpp}; empty to build it, {@code none} for no comparison
 */
public record FifoSpec(
        Device device,
        List<Integer> threads,
        int rings,
        int ringCommands,
        int producers,
        long commands,
        int repeats,
        int pings,
        int garbage,
        String library) {
    /** Copies the list. */
    public FifoSpec {
        threads = List.copyOf(threads);
    }

    int producers(int usual) {
        return producers == 0 ? usual : producers;
    }
}
