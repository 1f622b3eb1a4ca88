package org.ep4j.engine.membership;

import java.util.List;

/**
 * A ballot with the value that is proposed or accepted in it.
 *
 * @param ballot round x ranks + proposer, so that no two ranks use the same ballot; {@link #NO_BALLOT} if there is none
 * @param value the statuses of all ranks in the next epoch; empty as long as the proposer collects promises
 */
record Vote(long ballot, List<RankStatus> value) {
    /** Lower than every ballot. */
    static final long NO_BALLOT = -1;

    static final Vote NONE = new Vote(NO_BALLOT, List.of());

    Vote {
        value = List.copyOf(value);
    }

    Vote newer(Vote other) {
        return other.ballot > ballot ? other : this;
    }
}
