package org.ep4j.spi;

import java.util.Optional;
import org.ep4j.DeviceMemory;

/**
 * One symmetric buffer as one backend sees it. What the backend can do with it is said by
 * capability interfaces such as {@link MappedPeers}.
 */
public interface SymmetricBuffer extends AutoCloseable {
    /**
     * This rank's own memory.
     *
     * @throws org.ep4j.EpStateException after {@link #close}
     */
    DeviceMemory local();

    /** The buffer seen as {@code capability}, or empty if the buffer lacks this capability. */
    default <C> Optional<C> as(Class<C> capability) {
        return capability.isInstance(this) ? Optional.of(capability.cast(this)) : Optional.empty();
    }

    /**
     * Unmaps or deregisters this rank's memory. The call is local: it needs no call or answer of another rank, and
     * waits for other ranks only for a moment, if at all. A second call does nothing.
     */
    @Override
    void close();
}
