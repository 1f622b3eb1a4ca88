package org.ep4j.spi;

import org.ep4j.DeviceMemory;

/**
 * Capability of a {@link SymmetricBuffer}: this rank can load from and store into the memory of peers. A store with
 * release order is seen by a load with acquire order on the peer, together with everything stored before it.
 */
public interface MappedPeers {
    /**
     * The memory of {@code rank} (its number in the plan), or {@link SymmetricBuffer#local()} for this rank itself. It
     * is valid until this rank or the other one closes the buffer, and stays valid if the other one dies.
     *
     * @throws org.ep4j.EpStateException after {@link SymmetricBuffer#close}
     * @throws IllegalArgumentException when the rank is not one that the backend connects
     */
    DeviceMemory peer(int rank);
}
