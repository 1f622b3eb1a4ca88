package org.ep4j.engine.sync;

import java.time.Duration;
import java.util.List;
import org.ep4j.spi.Bootstrap;

/** Makes the memory into which a buffer moves when it recovers. */
public interface FreshMemory {
    /**
     * Makes symmetric memory among some ranks, zeroed. Collective over them. Memory that was made before stays as it is.
     *
     * @param members bootstrap over {@code ranks}
     * @param ranks ascending, this one among them
     * @param epoch unique in the life of the buffer
     * @param longest time the call may take
     */
    SymmetricMemory make(Bootstrap members, List<Integer> ranks, long epoch, Duration longest);

    /** Gives back what {@link #make} made last, since this rank does not move there after all. */
    void dropNewest();

    /** Gives back all memory but the newest: that in which results of operations before the last move are. */
    void freeOlder();
}
