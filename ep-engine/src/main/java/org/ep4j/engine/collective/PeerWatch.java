package org.ep4j.engine.collective;

import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.ep4j.spi.MemberState;

/**
 * Watches the peers of a backend, and reports those that are gone with the reason; all of them when this rank is out of the group.
 * For one thread.
 */
public final class PeerWatch {
    private final Collective collective;
    private final Map<Integer, Consumer<String>> gone;
    private Optional<Collective.Members> watched = Optional.empty();
    private long seen;

    /**
     * Over peers of this rank.
     *
     * @param collective says who takes part, and over which bootstrap they are watched; followed through {@link
     *     Collective#continueWith}
     * @param gone gets the reason why a peer is gone, by its rank; again when other members change
     */
    public PeerWatch(Collective collective, Map<Integer, Consumer<String>> gone) {
        this.collective = collective;
        this.gone = Map.copyOf(gone);
    }

    /** Reports peers that are gone if any member's state, or the membership, has changed since the last call. */
    public void look() {
        Collective.Members now = collective.members();
        long changes = now.bootstrap().stateChanges();
        boolean same = watched.isPresent() && watched.get().equals(now);
        if (!same || changes != seen) {
            watched = Optional.of(now);
            seen = changes;
            gone.forEach((rank, tell) -> reason(now, rank).ifPresent(tell));
        }
    }

    private static Optional<String> reason(Collective.Members now, int rank) {
        // Nothing that this rank waits for comes any more, however well its peers are.
        if (now.bootstrap().state(now.bootstrap().rank()) == MemberState.LOST) {
            return Optional.of("the other ranks hold this rank lost and go on without it");
        }
        int member = now.ranks().indexOf(rank);
        if (member < 0) {
            return Optional.of("the other ranks go on without it");
        }
        MemberState state = now.bootstrap().state(member);
        return switch (state) {
            case ALIVE -> Optional.empty();
            case LEFT -> Optional.of("it has left the group");
            case LOST -> Optional.of("its process is lost");
        };
    }
}
