package org.ep4j.spi;

import java.util.List;
import org.apiguardian.api.API;
import org.ep4j.Bootstrap;

/**
 * A backend that can make buffers among the surviving ranks after other ranks were lost. {@link
 * org.ep4j.EpBuffer#recover} uses it to move a buffer into fresh memory, where a lost rank that still runs can neither
 * write nor read.
 */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
public interface RecoverableBackend extends EpBackend {
    /**
     * The same backend, with the same capabilities, for the surviving ranks only: what it allocates or registers is
     * collective over {@code ranks}. Buffers that were made before stay as they are. Local; to close either is to close
     * both.
     *
     * @param members a bootstrap over {@code ranks}; the ranks that it is carried by may differ from those of the bootstrap with
     *     which the backend was opened
     * @param ranks in ascending order, some of those with which the backend was opened, this one among them
     */
    EpBackend among(Bootstrap members, List<Integer> ranks);
}
