package org.ep4j.bootstrap;

import java.util.List;

/** What a member tells the hub. No method waits for other members; scopes are named by their keys, members by group rank. */
interface HubLink {
    /** Joins a scope; all its members give the same ranks. */
    void declare(String scope, List<Integer> ranks);

    /** Takes part in a gather; the answer comes through {@link MemberInbox}. */
    void contribute(String scope, String tag, byte[] mine);

    /** Withdraws from a gather that took too long; unless it is complete, a failure that names the missing comes back. */
    void giveUp(String scope, String tag);

    /** Leaves a scope; leaving {@link Hub#ROOT} leaves all. */
    void leave(String scope);

    /** True if the hub hears of a loss only from the member itself. */
    default boolean provesLosses() {
        return false;
    }

    /** Ends the link after {@link #leave}; waits briefly until the hub knows. */
    void close();
}
