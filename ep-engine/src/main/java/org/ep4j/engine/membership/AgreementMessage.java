package org.ep4j.engine.membership;

import java.util.BitSet;
import java.util.List;

/**
 * The whole state of a rank's agreement, which it sends to all other ranks. A newer message replaces an older one, so that a slot of
 * memory which is overwritten can carry them: a message that is lost, repeated or late does no harm.
 *
 * @param version grows with each message of a sender
 * @param acceptor the sender's promises and votes; its membership has the epoch of the rest of the message
 * @param proposal the sender's own proposal
 * @param suspects by rank: {@link RankStatus#MEMBER}, or why the sender wants to leave this rank out
 * @param dead members that are proved dead; not to be changed. Their final records are part of the next two values
 * @param deadPromised the highest ballot in the final records of {@code dead}
 * @param deadAccepted the newest vote in the final records of {@code dead}
 * @param deadUnread those of {@code dead} whose final record is not known; not to be changed
 */
record AgreementMessage(
        long version,
        AcceptorRecord acceptor,
        Vote proposal,
        List<RankStatus> suspects,
        BitSet dead,
        long deadPromised,
        Vote deadAccepted,
        BitSet deadUnread) {
    AgreementMessage {
        suspects = List.copyOf(suspects);
    }

    long epoch() {
        return acceptor.membership().epoch();
    }
}
