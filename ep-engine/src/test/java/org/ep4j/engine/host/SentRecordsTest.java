package org.ep4j.engine.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.engine.layout.BufferLayout;
import org.ep4j.transport.memory.HostMemory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class SentRecordsTest {
    private static final int RANKS = 3;
    private static final int EXPERTS = 6;
    private static final int HIDDEN = 256;
    private static final int TOP_K = 2;
    private static final int MOST_TOKENS = 80;
    private static final int DRAWS = 200;

    private final ExpertPlacement placement = ExpertPlacement.block(EXPERTS, RANKS);
    private final BufferLayout layout = new BufferLayout(
            EpShape.builder(HIDDEN, EXPERTS, TOP_K).maxTokens(MOST_TOKENS).build(), RANKS, false, 0);

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

    private static HostMemory words(Random random, int count) {
        HostMemory memory = HostMemory.of(ByteBuffer.allocateDirect(4 * count));
        for (int i = 0; i < count; i++) {
            memory.putInt(4L * i, random.nextInt());
        }
        return memory;
    }

    /** What is between a record and the next one is not read. */
    private void clearPadding(HostMemory memory, int scales) {
        int padding = layout.recordBytes(scales) / 4 - (1 + 2 * TOP_K + scales);
        for (int row = 0; row < RANKS * MOST_TOKENS; row++) {
            long end = layout.record(row + 1, scales);
            memory.putInts(end - 4L * padding, new int[padding], 0, padding);
        }
    }

    /** One dispatch of random tokens, some of which go nowhere or not to all of their ranks. */
    private final class Draw {
        private final Random random;
        private final int scales;
        private final Optional<HostMemory> weights;
        private final Optional<HostMemory> scaleMemory;
        private final int[] ids = new int[MOST_TOKENS * TOP_K];
        private final int tokens;
        private final int[] next;

        Draw(Random random) {
            this.random = random;
            scales = random.nextBoolean() ? HIDDEN / 128 : 0;
            weights = Optional.of(words(random, MOST_TOKENS * TOP_K)).filter(w -> random.nextBoolean());
            scaleMemory = Optional.of(words(random, MOST_TOKENS * scales)).filter(w -> scales > 0);
            for (int i = 0; i < ids.length; i++) {
                ids[i] = random.nextInt(EXPERTS + 1) - 1;
            }
            tokens = random.nextInt(MOST_TOKENS + 1);
            next = random.ints(RANKS, 0, MOST_TOKENS).toArray();
        }

        private void begin(SentRecords sent) {
            sent.begin(tokens, ids, weights, scaleMemory, scales);
        }

        private int[] record(int token, int rank) {
            int[] record = new int[1 + 2 * TOP_K + scales];
            record[0] = token;
            for (int k = 0; k < TOP_K; k++) {
                int id = ids[token * TOP_K + k];
                record[1 + k] = id >= 0 && placement.rankOf(id) == rank ? placement.localIndex(id) : -1;
                int selection = token * TOP_K + k;
                record[1 + TOP_K + k] =
                        weights.map(w -> w.getInt(4L * selection)).orElse(0);
            }
            for (int s = 0; s < scales; s++) {
                record[1 + 2 * TOP_K + s] = scaleMemory.orElseThrow().getInt(4L * (token * scales + s));
            }
            return record;
        }
    }

    /** Compares with records that are made and written one by one. */
    @Test
    void recordsLieWhereTheirRowsDo() {
        SentRecords sent = new SentRecords(layout, placement, TOP_K);
        Random random = new Random(29);
        for (int number = 0; number < DRAWS; number++) {
            Draw draw = new Draw(random);
            List<HostMemory> expected = memories();
            List<HostMemory> got = memories();
            if (draw.random.nextInt(4) == 0 && draw.tokens > 0) {
                // Broken off.
                draw.begin(sent);
                sent.token(0);
                sent.add(draw.random.nextInt(RANKS), got.get(0), 0);
            }
            draw.begin(sent);
            for (int t = 0; t < draw.tokens; t++) {
                if (draw.random.nextInt(5) == 0) {
                    continue;
                }
                sent.token(t);
                for (int rank = 0; rank < RANKS; rank++) {
                    if (draw.random.nextBoolean()) {
                        int[] record = draw.record(t, rank);
                        sent.add(rank, got.get(rank), draw.next[rank]);
                        expected.get(rank)
                                .putInts(layout.record(draw.next[rank]++, draw.scales), record, 0, record.length);
                    }
                }
            }
            for (int r = 0; r < RANKS; r++) {
                sent.write(r, got.get(r));
                clearPadding(got.get(r), draw.scales);
                assertThat(bytes(got.get(r))).as("draw %d, rank %d", number, r).isEqualTo(bytes(expected.get(r)));
            }
        }
    }
}
