package org.ep4j.engine.sync;

import java.time.Duration;
import java.util.List;
import org.ep4j.Bootstrap;

/** Makes the memory into which a buffer moves when it recovers. */
public interface FreshMemory {
    /**
     * Makes symmetric memory among some ranks, zeroed. Collective over them. Memory that was made before stays as it is.
     *
     * @param members bootstrap over {@code ranks}
     * @param ranks ascending, this one among them
     * @param epoch unique in the life of the buffer
     * @param longest time the call may take
     * @param preparation makes what else this rank needs to use the memory, before the members agree that all have made theirs
     */
    SymmetricMemory make(Bootstrap members, List<Integer> ranks, long epoch, Duration longest, Preparation preparation);

    /** What a rank needs to use a memory besides it. */
    interface Preparation {
        /** Makes it; gives what frees it, which is called once, before the memory is given back. */
        Runnable prepare(SymmetricMemory fresh);
    }

    /** Gives back what {@link #make} made last, since this rank does not move there after all. */
    void dropNewest();

    /** Gives back all memory but the newest: that in which results of operations before the last move are. */
    void freeOlder();
}
