package org.ep4j.spi;

import java.time.Duration;
import java.util.Optional;

/**
 * Carries a few bytes from rank 0 to all other ranks before they have a bootstrap, as the key-value store of a launcher can.
 * It is used once, by every rank of the job.
 */
@FunctionalInterface
public interface WireUp {
    /**
     * Passes the bytes of rank 0 to every rank; collective over all ranks.
     *
     * @param mine what rank 0 has to say, at most a few KB; empty on all other ranks
     * @param deadline longest time the call may take
     * @return what rank 0 said
     * @throws org.ep4j.EpException with reason and remedy
     */
    byte[] share(Optional<byte[]> mine, Duration deadline);
}
