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

    /** The link of a member that has no hub: nothing gets through. */
    HubLink NONE = new HubLink() {
        @Override
        public void declare(String scope, List<Integer> ranks) {
            // Declared again at the next hub.
        }

        @Override
        public void contribute(String scope, String tag, byte[] mine) {
            // Contributed at the next hub, or failed before.
        }

        @Override
        public void giveUp(String scope, String tag) {
            // Not contributed any more.
        }

        @Override
        public void leave(String scope) {
            // Told to the next hub.
        }
    };
}
