package org.ep4j.bootstrap;

import java.util.List;

/**
 * The link of a member to a hub in its own process: calls it in the member's own thread.
 *
 * @param hub that carries the gathers
 * @param rank of the member
 */
record DirectLink(Hub hub, int rank) implements HubLink {
    @Override
    public void declare(String scope, List<Integer> ranks) {
        hub.declare(rank, scope, ranks);
    }

    @Override
    public void contribute(String scope, String tag, byte[] mine) {
        hub.contribute(rank, scope, tag, mine.clone());
    }

    @Override
    public void giveUp(String scope, String tag) {
        hub.giveUp(rank, scope, tag);
    }

    @Override
    public void leave(String scope) {
        hub.leave(rank, scope);
    }
}
