package org.ep4j.transport;

import java.util.Map;
import java.util.function.Consumer;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;

/** Polls the state of members of a backend's bootstrap, and reports those that are gone. For one thread. */
public final class PeerWatch {
    private final Bootstrap bootstrap;
    private final Map<Integer, Consumer<String>> gone;
    private long seen = -1;

    /**
     * Creates a watch over members.
     *
     * @param gone called with the reason once a member is gone, by its number in the bootstrap; again when other members change
     */
    public PeerWatch(Bootstrap bootstrap, Map<Integer, Consumer<String>> gone) {
        this.bootstrap = bootstrap;
        this.gone = Map.copyOf(gone);
    }

    /** Checks all members if a state has changed since the last call. */
    public void poll() {
        long now = bootstrap.stateChanges();
        if (now != seen) {
            seen = now;
            gone.forEach((member, report) -> {
                MemberState state = bootstrap.state(member);
                if (state != MemberState.ALIVE) {
                    report.accept(state == MemberState.LEFT ? "it has left the group" : "its process is lost");
                }
            });
        }
    }
}
