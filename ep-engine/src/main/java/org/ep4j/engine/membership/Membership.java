package org.ep4j.engine.membership;

import java.util.Collections;
import java.util.List;

/**
 * The members of one epoch, and the reason why each other rank is not one of them; the same on all ranks.
 *
 * @param epoch 0 when the buffer is created, then one more with each agreement
 * @param statuses by rank, of all ranks that the group was started with
 */
record Membership(long epoch, List<RankStatus> statuses) {
    Membership {
        statuses = List.copyOf(statuses);
    }

    /** The membership of epoch 0: all ranks. */
    static Membership first(int ranks) {
        return new Membership(0, Collections.nCopies(ranks, RankStatus.MEMBER));
    }

    Membership next(List<RankStatus> agreed) {
        return new Membership(epoch + 1, agreed);
    }

    boolean has(int rank) {
        return statuses.get(rank) == RankStatus.MEMBER;
    }

    int size() {
        return Collections.frequency(statuses, RankStatus.MEMBER);
    }
}
