package org.ep4j.engine.proxy;

import java.util.concurrent.atomic.AtomicLong;

/** Puts commands of the host into a ring that no GPU uses. Safe for use from several threads; there is one for a ring. */
final class CommandProducer {
    private final CommandRing ring;
    private final AtomicLong head = new AtomicLong();
    private volatile long tail;

    /** For a ring that nothing was put into. */
    CommandProducer(CommandRing ring) {
        this.ring = ring;
    }

    /**
     * Puts a write.
     *
     * @return false where the ring is full
     */
    boolean write(int peer, long target, long source, long bytes) {
        return offer(Commands.writeWord0(target, bytes), Commands.writeWord1(peer, source));
    }

    /** Puts an advance; see {@link #write}. */
    boolean advance(int peer, int counter, long value) {
        return offer(value, Commands.advanceWord1(peer, counter));
    }

    /** Puts the words of {@link Command}; false where the ring is full. */
    boolean offer(long word0, long word1) {
        while (true) {
            long index = head.get();
            if (index - tail >= ring.commands()) {
                tail = ring.tail();
                if (index - tail >= ring.commands()) {
                    return false;
                }
            }
            if (head.compareAndSet(index, index + 1)) {
                ring.put(index, word0, word1);
                return true;
            }
        }
    }
}
