package org.ep4j.backend.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** What ranks tell each other, and the verdict that all draw from it. */
final class WireFormatTest {
    @Property
    void aRefusalIsExact(
            @ForAll @LongRange(min = 4096, max = 1L << 40) long bytes,
            @ForAll @IntRange(min = 1, max = 1024) int ranks,
            @ForAll @LongRange(min = -8, max = 8) long around) {
        long free = bytes * ranks + around;
        Room ofFolder = new Room(bytes, free, Long.MAX_VALUE, List.of(), "/f");
        Room ofGroup = new Room(
                bytes, Long.MAX_VALUE, Long.MAX_VALUE, List.of(new MemoryLimit("g", "/max", 2 * free, free)), "/f");
        for (Room room : List.of(ofFolder, ofGroup)) {
            List<Room.OfRank> all = Collections.nCopies(ranks, new Room.OfRank("rank", "m", "m/f", room));
            assertThat(Room.refusal("b", all).isEmpty()).isEqualTo(around >= 0);
        }
    }

    @Property
    void whatRanksTellSurvivesTheWay(@ForAll long bytes, @ForAll long free, @ForAll long memory, @ForAll int seed) {
        MemoryLimit limit = new MemoryLimit("0:" + seed, "/sys/\u00fc", memory, bytes);
        Room room = new Room(bytes, free, memory, Collections.nCopies(seed & 3, limit), "/dev/shm/\u00fc" + seed);
        assertThat(Room.decode(room.encode())).isEqualTo(room);
        Announcement file = new Announcement("ep4j-" + seed, new FileId(free, memory));
        assertThat(Announcement.decode(file.encode())).isEqualTo(file);
    }
}
