package org.ep4j.spi;

import java.util.List;
import java.util.Optional;
import org.apiguardian.api.API;
import org.ep4j.EpTraffic;

/**
 * An open backend on one rank. How it makes symmetric buffers is said by {@link AllocatesMemory} and {@link
 * RegistersMemory}, of which it has at least one. Safe for use from several threads.
 */
public interface EpBackend extends AutoCloseable {
    /** Id of this backend, the same as {@link EpBackendProvider#id()} of its provider. */
    String id();

    /** The backend seen as {@code capability}, or empty if it lacks this capability; always the same answer. */
    default <C> Optional<C> as(Class<C> capability) {
        return capability.isInstance(this) ? Optional.of(capability.cast(this)) : Optional.empty();
    }

    /**
     * Traffic to each peer since the backend was opened, in the order of their ranks; empty where the backend does not
     * count it.
     */
    @API(status = API.Status.EXPERIMENTAL, since = "0.1")
    default List<EpTraffic> traffic() {
        return List.of();
    }

    /** Frees everything that the backend has on this rank; never waits for other ranks. A second call does nothing. */
    @Override
    void close();
}
