package org.ep4j.engine.membership;

import java.util.Collections;
import java.util.List;

/**
 * The members of one epoch, and the reason why each other rank is not one of them. All ranks that know a membership of an epoch
 * know the same one.
 *
 * @param epoch 0 when the buffer is created, then one more with each agreement
 * @param standings by rank, of all ranks that the group was started with
 */
record Membership(long epoch, List<Standing> standings) {
    Membership {
        standings = List.copyOf(standings);
    }

    /** The membership of epoch 0: all ranks. */
    static Membership first(int ranks) {
        return new Membership(0, Collections.nCopies(ranks, Standing.MEMBER));
    }

    /** The membership that follows this one. */
    Membership next(List<Standing> agreed) {
        return new Membership(epoch + 1, agreed);
    }

    boolean has(int rank) {
        return standings.get(rank) == Standing.MEMBER;
    }

    int size() {
        return Collections.frequency(standings, Standing.MEMBER);
    }
}
