package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.LongRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;

/** Messages that ranks exchange, and the decision that all take from them. */
@Tag("verify")
final class WireFormatTest {
    @Property
    void aRefusalIsExact(
            @ForAll @LongRange(min = 4096, max = 1L << 40) long bytes,
            @ForAll @IntRange(min = 1, max = 1024) int ranks,
            @ForAll @LongRange(min = -8, max = 8) long around) {
        long free = bytes * ranks + around;
        assertThat(new SpaceRequest(bytes, free, Long.MAX_VALUE, Optional.empty(), "/f")
                        .refusal("b", ranks, 1)
                        .isEmpty())
                .isEqualTo(around >= 0);
    }

    @Property
    void messagesSurviveEncodingAndDecoding(
            @ForAll long bytes, @ForAll long free, @ForAll long memory, @ForAll int seed) {
        SpaceRequest room = new SpaceRequest(bytes, free, memory, Optional.empty(), "/dev/shm/\u00fc" + seed);
        assertThat(SpaceRequest.CODEC.decode(SpaceRequest.CODEC.encode(room))).isEqualTo(room);
        Optional<CgroupMemory> group = Optional.of(new CgroupMemory(free & Long.MAX_VALUE, seed, "/sys/\u00fc"));
        SpaceRequest limited = new SpaceRequest(bytes, free, memory, group, room.folder());
        assertThat(SpaceRequest.CODEC.decode(SpaceRequest.CODEC.encode(limited)))
                .isEqualTo(limited);
        SharedFile.Announcement file = new SharedFile.Announcement("ep4j-" + seed, new FileId(free, memory));
        byte[] sent = SharedFile.Announcement.CODEC.encode(file);
        assertThat(SharedFile.Announcement.CODEC.decode(sent)).isEqualTo(file);
    }
}
