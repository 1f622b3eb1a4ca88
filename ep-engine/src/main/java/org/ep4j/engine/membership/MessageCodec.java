package org.ep4j.engine.membership;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** Encodes {@link AgreementMessage} and {@link AcceptorRecord}: fixed order, longs of 8 bytes, statuses of one byte each. */
final class MessageCodec {
    private static final RankStatus[] STATUSES = RankStatus.values();
    private static final int LONGS = 8;

    private final int ranks;

    MessageCodec(int ranks) {
        this.ranks = ranks;
    }

    int messageBytes() {
        return LONGS * Long.BYTES + recordBytes() + 4 * (1 + ranks);
    }

    int recordBytes() {
        return 3 * Long.BYTES + ranks + 1 + ranks;
    }

    byte[] encode(AgreementMessage message) {
        ByteBuffer to = ByteBuffer.allocate(messageBytes());
        to.putLong(message.version());
        put(to, message.acceptor());
        put(to, message.proposal());
        putStatuses(to, message.suspects());
        for (int r = 0; r < ranks; r++) {
            to.put((byte)
                    ((message.dead().get(r) ? 1 : 0) + (message.deadUnread().get(r) ? 2 : 0)));
        }
        to.putLong(message.deadPromised());
        put(to, message.deadAccepted());
        return written(to);
    }

    AgreementMessage message(byte[] bytes) {
        ByteBuffer from = ByteBuffer.wrap(bytes);
        long version = from.getLong();
        AcceptorRecord acceptor = record(from);
        Vote proposal = vote(from);
        List<RankStatus> suspects = statuses(from);
        BitSet dead = new BitSet(ranks);
        BitSet deadUnread = new BitSet(ranks);
        for (int r = 0; r < ranks; r++) {
            byte flags = from.get();
            dead.set(r, (flags & 1) != 0);
            deadUnread.set(r, (flags & 2) != 0);
        }
        return new AgreementMessage(
                version, acceptor, proposal, suspects, dead, from.getLong(), vote(from), deadUnread);
    }

    byte[] encode(AcceptorRecord record) {
        ByteBuffer to = ByteBuffer.allocate(recordBytes());
        put(to, record);
        return written(to);
    }

    AcceptorRecord record(byte[] bytes) {
        return record(ByteBuffer.wrap(bytes));
    }

    private void put(ByteBuffer to, AcceptorRecord record) {
        to.putLong(record.membership().epoch());
        putStatuses(to, record.membership().statuses());
        to.putLong(record.promised());
        put(to, record.accepted());
    }

    private AcceptorRecord record(ByteBuffer from) {
        return new AcceptorRecord(new Membership(from.getLong(), statuses(from)), from.getLong(), vote(from));
    }

    private void put(ByteBuffer to, Vote vote) {
        to.putLong(vote.ballot());
        to.put((byte) (vote.value().isEmpty() ? 0 : 1));
        if (!vote.value().isEmpty()) {
            putStatuses(to, vote.value());
        }
    }

    private Vote vote(ByteBuffer from) {
        long ballot = from.getLong();
        return new Vote(ballot, from.get() == 0 ? List.of() : statuses(from));
    }

    @SuppressWarnings("EnumOrdinal") // all ranks run the same version, which they have compared when they joined
    private static void putStatuses(ByteBuffer to, List<RankStatus> statuses) {
        statuses.forEach(status -> to.put((byte) status.ordinal()));
    }

    private List<RankStatus> statuses(ByteBuffer from) {
        List<RankStatus> statuses = new ArrayList<>(ranks);
        for (int r = 0; r < ranks; r++) {
            statuses.add(STATUSES[from.get()]);
        }
        return statuses;
    }

    private static byte[] written(ByteBuffer to) {
        byte[] bytes = new byte[to.position()];
        to.flip().get(bytes);
        return bytes;
    }
}
