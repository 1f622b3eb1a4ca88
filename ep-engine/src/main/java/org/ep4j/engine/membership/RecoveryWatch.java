package org.ep4j.engine.membership;

import java.util.List;
import java.util.Map;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;

/** What operations ask about recoveries of their buffer, by this rank and by others. For any thread, but for {@link #requireReady}. */
public interface RecoveryWatch {
    /**
     * Begins an operation.
     *
     * @throws EpStateException while a recovery has begun and is not complete
     */
    void requireReady();

    /**
     * Ends an operation of a rank that the others have left out.
     *
     * @throws EpPeerLostException naming this rank
     */
    void requireMember(String phase);

    /** Whether the others have left this rank out, as far as is known now. */
    boolean isLeftOut();

    /** The ranks that have called recover, which this rank has not, and by each of them the ranks that it wants to leave out. */
    Map<Integer, List<Integer>> recoveries();
}
