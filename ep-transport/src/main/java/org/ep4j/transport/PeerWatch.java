package org.ep4j.transport;

import java.util.Map;
import java.util.function.Consumer;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;

/** Looks for members of a backend's bootstrap that are gone, and tells it why. For one thread. */
public final class PeerWatch {
    private final Bootstrap bootstrap;
    private final Map<Integer, Consumer<String>> gone;
    private long seen = -1;

    /**
     * Over members.
     *
     * @param gone is told why a member is gone, by its number in the bootstrap; again when other members change
     */
    public PeerWatch(Bootstrap bootstrap, Map<Integer, Consumer<String>> gone) {
        this.bootstrap = bootstrap;
        this.gone = Map.copyOf(gone);
    }

    /** Looks where something has changed since the last time. */
    public void look() {
        long now = bootstrap.stateChanges();
        if (now != seen) {
            seen = now;
            gone.forEach((member, tell) -> {
                MemberState state = bootstrap.state(member);
                if (state != MemberState.ALIVE) {
                    tell.accept(state == MemberState.LEFT ? "it has left the group" : "its process is lost");
                }
            });
        }
    }
}
