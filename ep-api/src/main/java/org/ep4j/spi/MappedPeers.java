package org.ep4j.spi;

import org.ep4j.DeviceMemory;

/**
 * Capability of a {@link SymmetricBuffer} whose peers' memory this rank can load and store. A store with release order is
 * seen by a load with acquire order on the peer, together with everything stored before it.
 */
public interface MappedPeers {
    /**
     * The memory of {@code rank} (number in the plan), valid until the buffer is closed here or by that rank, also after that rank died; for this
     * rank itself, {@link SymmetricBuffer#local()}.
     *
     * @throws org.ep4j.EpStateException after {@link SymmetricBuffer#close}
     * @throws IllegalArgumentException when the rank is not one that the backend connects
     */
    DeviceMemory peer(int rank);
}
