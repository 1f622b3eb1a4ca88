package org.ep4j.spi;

import java.util.Optional;
import org.ep4j.DeviceMemory;

/**
 * One symmetric buffer as one backend sees it. New memory is zeroed before any rank's {@link EpBackend#expose} returns.
 * What the backend can do with it is said by capability interfaces such as {@link MappedPeers}.
 */
public interface SymmetricBuffer extends AutoCloseable {
    /**
     * This rank's own memory.
     *
     * @throws org.ep4j.EpStateException after {@link #close}
     */
    DeviceMemory local();

    /** The buffer seen as {@code capability}, or empty when the backend does not have it. */
    default <C> Optional<C> as(Class<C> capability) {
        return capability.isInstance(this) ? Optional.of(capability.cast(this)) : Optional.empty();
    }

    /**
     * True when memory that this rank frees stays intact for peers that still map it: they read what was there, and what they
     * write reaches nobody else. False where no driver promises that, or where the memory may go to another buffer meanwhile:
     * what a peer that still maps it finds, and whom its writes reach, is then open. By default true where peers map none of it.
     */
    default boolean staysMapped() {
        return as(MappedPeers.class).isEmpty();
    }

    /**
     * Unmaps what peers have exposed, local, and keeps this rank's own memory: peers that were left behind may still write it,
     * but nobody here uses theirs any more, and their next allocation may have its place. {@link #close} gives back the rest. By
     * default nothing is unmapped before that.
     */
    default void unmapPeers() {}

    /** Unmaps or deregisters, local: needs no other rank, and waits for none longer than a moment. A second call does nothing. */
    @Override
    void close();
}
