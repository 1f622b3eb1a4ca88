package org.ep4j.engine.membership;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.ep4j.testing.Draw;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;

@Tag("verify")
final class MessageCodecTest {
    private static List<RankStatus> statuses(Random random, int ranks) {
        return Stream.generate(() -> Draw.oneOf(random, RankStatus.values()))
                .limit(ranks)
                .toList();
    }

    private static Vote vote(Random random, int ranks) {
        return random.nextBoolean()
                ? Vote.NONE
                : new Vote(random.nextLong(), random.nextBoolean() ? List.of() : statuses(random, ranks));
    }

    @Property(tries = 500)
    void decodesWhatItEncodes(@ForAll @IntRange(min = 1, max = 300) int ranks, @ForAll long seed) {
        Random random = new Random(seed);
        MessageCodec codec = new MessageCodec(ranks);
        BitSet dead = new BitSet(ranks);
        BitSet deadUnread = new BitSet(ranks);
        for (int r = 0; r < ranks; r++) {
            dead.set(r, random.nextBoolean());
            deadUnread.set(r, random.nextBoolean());
        }
        AcceptorRecord record = new AcceptorRecord(
                new Membership(random.nextLong(), statuses(random, ranks)), random.nextLong(), vote(random, ranks));
        AgreementMessage message = new AgreementMessage(
                random.nextLong(),
                record,
                vote(random, ranks),
                statuses(random, ranks),
                dead,
                random.nextLong(),
                vote(random, ranks),
                deadUnread);
        assertThat(codec.encode(record).length).isLessThanOrEqualTo(codec.recordBytes());
        assertThat(codec.encode(message).length).isLessThanOrEqualTo(codec.messageBytes());
        assertThat(codec.record(codec.encode(record))).isEqualTo(record);
        assertThat(codec.message(codec.encode(message))).isEqualTo(message);
    }
}
