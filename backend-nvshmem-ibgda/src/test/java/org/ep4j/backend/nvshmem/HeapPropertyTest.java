package org.ep4j.backend.nvshmem;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;

@Tag("verify")
final class HeapPropertyTest {
    private static final long CHUNK = 64;

    /** Buffers are created and closed on ranks that do not close them at the same time. */
    @Property
    void whatRanksAgreeOnIsFreeOnAllOfThem(
            @ForAll @Size(min = 1, max = 60) List<@IntRange(min = 1, max = 40) Integer> sizes,
            @ForAll @Size(min = 1, max = 20) List<@IntRange(min = 0, max = 1000) Integer> choices) {
        Heap[] ranks = {new Heap(), new Heap()};
        List<List<Heap.Range>> open = List.of(new ArrayList<>(), new ArrayList<>());
        int step = 0;
        for (int size : sizes) {
            List<Heap.Range> used = new ArrayList<>();
            for (Heap rank : ranks) {
                byte[] request = Heap.Request.CODEC.encode(new Heap.Request(size, rank.used()));
                used.addAll(Heap.Request.CODEC.decode(request).used());
            }
            Optional<Heap.Range> room = ranks[0].room(used, size);
            assertThat(ranks[1].room(used, size)).isEqualTo(room);
            if (room.isEmpty()) {
                long base = 1_000_000 * (1L + step);
                ranks[0].add(base, CHUNK);
                ranks[1].add(base + 7, CHUNK);
                room = ranks[0].room(used, size);
            }
            Heap.Range range = room.orElseThrow();
            assertThat(range.end() - range.start()).isEqualTo(size);
            assertThat(used).noneMatch(other -> other.start() < range.end() && range.start() < other.end());
            // It is at the same place of the same chunk everywhere.
            assertThat(ranks[1].address(range) - ranks[0].address(range)).isEqualTo(7);
            for (int r = 0; r < 2; r++) {
                ranks[r].use(range);
                open.get(r).add(range);
                int choice = choices.get((step + r) % choices.size());
                if (choice % 3 == 0) {
                    ranks[r].free(open.get(r).remove(choice % open.get(r).size()));
                }
            }
            step++;
        }
        assertThat(ranks[0].bytes()).isEqualTo(ranks[1].bytes()).isPositive();
    }
}
