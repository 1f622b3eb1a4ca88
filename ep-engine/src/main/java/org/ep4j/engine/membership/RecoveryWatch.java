package org.ep4j.engine.membership;

import java.util.List;
import java.util.Map;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpStateException;

/** The recoveries of a buffer, by this rank and by others, as its operations see them. For any thread, except {@link #requireReady}. */
public interface RecoveryWatch {
    /**
     * Refuses an operation while a recovery has begun and is not complete.
     *
     * @throws EpStateException then
     */
    void requireReady();

    /**
     * Ends an operation of a rank that the others have left out.
     *
     * @throws EpPeerLostException naming this rank
     */
    void requireMember(String phase);

    /** Returns whether the others have left this rank out, as far as is known now. */
    boolean isLeftOut();

    /** Returns the ranks that have called recover before this rank, and for each the ranks that it wants to leave out. */
    Map<Integer, List<Integer>> recoveries();
}
