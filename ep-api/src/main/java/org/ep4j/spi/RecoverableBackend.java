package org.ep4j.spi;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A backend that can make a buffer reachable among the surviving ranks after other ranks were lost. {@link
 * org.ep4j.EpBuffer#recover} uses it to move a buffer into fresh memory, where a lost rank that still runs can neither
 * write nor read.
 */
public interface RecoverableBackend extends EpBackend {
    /**
     * Exposes a symmetric buffer to the surviving ranks only. Collective over {@code ranks}, otherwise as
     * {@link #expose}. Buffers that were made before stay as they are.
     *
     * @param members a bootstrap over {@code ranks}; the ranks that it is carried by may differ from those of the bootstrap with
     *     which the backend was opened
     * @param ranks in ascending order, some of those with which the backend was opened, this one among them
     * @param name unique among the buffers of the group
     */
    SymmetricBuffer exposeAmong(
            Bootstrap members,
            List<Integer> ranks,
            String name,
            long bytes,
            Optional<ExposedMemory> memory,
            Duration deadline);
}
