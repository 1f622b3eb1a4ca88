package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.ep4j.EpShape;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.engine.memory.HostMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class SentRecordsTest {
    private static final int RANKS = 3;
    private static final int HIDDEN = 256;
    private static final int TOP_K = 2;
    private static final int MOST_ROWS = 80;
    private static final int DRAWS = 200;

    private final BufferLayout layout = new BufferLayout(
            EpShape.builder(HIDDEN, 6, TOP_K).maxTokens(MOST_ROWS).build(), RANKS, false, 0);

    private List<HostMemory> memories() {
        List<HostMemory> memories = new ArrayList<>();
        for (int r = 0; r < RANKS; r++) {
            memories.add(HostMemory.of(ByteBuffer.allocateDirect(Math.toIntExact(layout.bytes()))));
        }
        return memories;
    }

    private static byte[] bytes(HostMemory memory) {
        byte[] all = new byte[(int) memory.size()];
        memory.getBytes(0, all, 0, all.length);
        return all;
    }

    /** Compares with records that are written one by one. */
    @Test
    void recordsLieWhereTheirRowsDo() {
        SentRecords sent = new SentRecords(layout, RANKS);
        for (int draw = 0; draw < DRAWS; draw++) {
            Random random = new Random(draw);
            int scales = random.nextBoolean() ? HIDDEN / 128 : 0;
            int[] record = new int[1 + 2 * TOP_K + scales];
            List<HostMemory> expected = memories();
            List<HostMemory> got = memories();
            int[] next = random.ints(RANKS, 0, MOST_ROWS).toArray();
            sent.begin(scales);
            if (random.nextInt(4) == 0) {
                // Broken off.
                sent.add(random.nextInt(RANKS), got.get(0), 0, record);
                sent.begin(scales);
            }
            for (int row = random.nextInt(3 * MOST_ROWS); row > 0; row--) {
                int rank = random.nextInt(RANKS);
                if (next[rank] == RANKS * MOST_ROWS) {
                    continue;
                }
                for (int i = 0; i < record.length; i++) {
                    record[i] = 1 + random.nextInt(1000);
                }
                sent.add(rank, got.get(rank), next[rank], record);
                expected.get(rank).putInts(layout.record(next[rank]++, scales), record, 0, record.length);
            }
            for (int r = 0; r < RANKS; r++) {
                sent.write(r, got.get(r));
                assertThat(bytes(got.get(r))).as("draw %d, rank %d", draw, r).isEqualTo(bytes(expected.get(r)));
            }
        }
    }
}
