package org.ep4j.bootstrap;

import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** A gather that a thread of this member waits for. Ends once, with parts or with a failure. */
final class PendingGather {
    private final int size;
    private final TreeMap<Integer, byte[]> parts = new TreeMap<>();
    private final CountDownLatch done = new CountDownLatch(1);
    private @Nullable Failure failure;

    PendingGather(int size) {
        this.size = size;
    }

    /** Takes parts of the result, which may come in several pieces. */
    synchronized void parts(int first, List<byte[]> some) {
        for (int i = 0; i < some.size(); i++) {
            parts.put(first + i, some.get(i));
        }
        if (parts.size() == size) {
            done.countDown();
        }
    }

    synchronized void fail(Failure why) {
        if (done.getCount() > 0) {
            failure = why;
            done.countDown();
        }
    }

    /** Waits; false when it has not ended by then. */
    boolean await(Deadline deadline) throws InterruptedException {
        return deadline.await(done);
    }

    synchronized Optional<Failure> failure() {
        return Optional.ofNullable(failure);
    }

    synchronized List<byte[]> result() {
        return List.copyOf(parts.values());
    }
}
