package org.ep4j.engine.proxy;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Peers for which a command has failed since they were last restored. A counter says that everything posted before it is there,
 * so nothing more may be posted or counted for such a peer. Safe for several threads; allocates nothing.
 */
final class BrokenPeers {
    private static final int BITS = Long.SIZE;

    private final AtomicLongArray words = new AtomicLongArray((Command.MAX_PEER + BITS) / BITS);

    boolean has(int peer) {
        return (words.get(peer / BITS) & 1L << peer) != 0;
    }

    void add(int peer) {
        words.accumulateAndGet(peer / BITS, 1L << peer, (word, bit) -> word | bit);
    }

    void remove(int peer) {
        words.accumulateAndGet(peer / BITS, 1L << peer, (word, bit) -> word & ~bit);
    }
}
