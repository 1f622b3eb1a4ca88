package org.ep4j.transport;

import java.time.Duration;
import java.util.List;

/** Waits for the end of threads that were told to end. */
public final class ThreadEnds {
    private ThreadEnds() {}

    /**
     * Waits, but not for ever, also where this thread is interrupted: what the threads look at is closed next.
     *
     * @param patience longest wait for all
     * @return names of those that still run
     */
    public static List<String> await(List<Thread> threads, Duration patience) {
        boolean interrupted = false;
        Deadline deadline = Deadline.in(patience);
        for (Thread thread : threads) {
            while (thread.isAlive() && !deadline.passed()) {
                try {
                    thread.join(1 + deadline.left().toMillis());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return threads.stream().filter(Thread::isAlive).map(Thread::getName).toList();
    }
}
