package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.DispatchResult;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.RowLayout;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.engine.layout.Block;
import org.ep4j.engine.layout.BufferLayout;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A rank that lives is masked between a dispatch and its combine. Every token has a selection on each of three ranks, and every row
 * holds ones, so a sum is the number of selections that were added.
 */
@Timeout(300)
final class MaskedRankTest {
    private static final int RANKS = 3;
    private static final int MASKED = 2;
    private static final int TOKENS = 5;
    private static final short ONE = 0x3f80;
    private static final short TWO = 0x4000;
    private static final EpShape SHAPE = EpShape.builder(128, RANKS, RANKS)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();
    private static final BufferLayout LAYOUT = new BufferLayout(SHAPE, RANKS);

    private static byte[] ones(long count) {
        ByteBuffer bytes = ByteBuffer.allocate((int) (2 * count)).order(ByteOrder.nativeOrder());
        while (bytes.hasRemaining()) {
            bytes.putShort(ONE);
        }
        return bytes.array();
    }

    private static Tensor rows(Rank rank, long... dims) {
        return rank.tensor(DataType.BF16, ones(Arrays.stream(dims).reduce(1, (a, b) -> a * b)), dims);
    }

    private static Tensor ids(Rank rank) {
        int[] ids = new int[TOKENS * RANKS];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = (i + i / RANKS) % RANKS;
        }
        return rank.ints(ids, TOKENS, RANKS);
    }

    /** Addresses of emulated GPUs are those of the host. */
    private static Pointer memory(Rank rank) {
        return new Pointer(((GpuBufferFacts) rank.buffer())
                .symmetricMemory()
                .get(rank.number())
                .address());
    }

    private static void write(Rank rank, long from, long to) {
        memory(rank).write(from, ones((to - from) / 2), 0, (int) (to - from));
    }

    private static void meet(Rank rank) {
        rank.group().barrier(Duration.ofSeconds(60));
    }

    private static void assertTwoOfThree(Rank rank, Tensor sums) {
        ByteBuffer read = ByteBuffer.wrap(rank.read(sums)).order(ByteOrder.nativeOrder());
        assertThat(read.remaining()).isEqualTo(2 * TOKENS * SHAPE.hidden());
        while (read.hasRemaining()) {
            assertThat(read.getShort()).as("a sum").isEqualTo(TWO);
        }
    }

    /** What the masked rank has sent would be added where the mask is forgotten: it is there, and said to be. */
    @ParameterizedTest
    @CsvSource({"EXACT, false", "RANK_PARTIAL, false", "EXACT, true", "RANK_PARTIAL, true"})
    void lowLatencyCombineAddsNothingOfItAndWritesNothingThere(CombinePrecision precision, boolean logFmt) {
        try (GpuAgainstHost ranks = new GpuAgainstHost(SHAPE, RANKS)) {
            ranks.onGpus(rank -> {
                float[] weights = new float[TOKENS * RANKS];
                Arrays.fill(weights, 1f);
                LowLatencyDispatchResult dispatched = rank.buffer()
                        .dispatch(LowLatencyDispatchRequest.of(rows(rank, TOKENS, SHAPE.hidden()), ids(rank))
                                .topkWeights(rank.floats(weights, TOKENS, RANKS))
                                .build());
                long flags = LAYOUT.combineFlag(0, 0, 0);
                long end = flags + 2L * TOKENS * RANKS * Long.BYTES;
                write(rank, LAYOUT.combineSlot(0, 0, 0), flags);
                for (long flag = flags; flag < end; flag += Long.BYTES) {
                    // Of a combine far in the future, on the others only for the masked rank's selections.
                    long selection = (flag - flags) / Long.BYTES % (TOKENS * RANKS);
                    boolean masked = (selection + selection / RANKS) % RANKS == MASKED;
                    memory(rank).setLong(flag, rank.number() == MASKED || masked ? 1L << 40 : 0);
                }
                int bytes = (int) (end - LAYOUT.combineSlot(0, 0, 0));
                byte[] before = memory(rank).getByteArray(LAYOUT.combineSlot(0, 0, 0), bytes);
                meet(rank);
                if (rank.number() != MASKED) {
                    rank.buffer().mask(MASKED);
                    var combine = LowLatencyCombineRequest.of(
                                    rows(rank, 1, SHAPE.lowLatencyRows(RANKS), SHAPE.hidden()), dispatched.handle())
                            .precision(precision);
                    assertTwoOfThree(
                            rank,
                            rank.buffer()
                                    .combine(logFmt ? combine.logFmt().build() : combine.build())
                                    .out());
                }
                meet(rank);
                if (rank.number() == MASKED) {
                    assertThat(memory(rank).getByteArray(LAYOUT.combineSlot(0, 0, 0), bytes))
                            .as("slots and flags of the masked rank")
                            .isEqualTo(before);
                }
            });
        }
    }

    @ParameterizedTest
    @CsvSource({"BY_RANK, EXACT", "BY_EXPERT, EXACT", "BY_EXPERT, RANK_PARTIAL"})
    void highThroughputCombineAddsNothingOfItAndWritesNothingThere(RowLayout layout, CombinePrecision precision) {
        try (GpuAgainstHost ranks = new GpuAgainstHost(SHAPE, RANKS)) {
            ranks.onGpus(rank -> {
                DispatchResult dispatched = rank.buffer()
                        .dispatch(DispatchRequest.of(rows(rank, TOKENS, SHAPE.hidden()), ids(rank))
                                .layout(layout)
                                .build());
                Tensor outputs = rows(rank, dispatched.handle().rows(), SHAPE.hidden());
                // Where peers would read the rows of the masked rank, and where it would have put them.
                long from = LAYOUT.rows();
                write(rank, from, LAYOUT.record(0));
                write(rank, LAYOUT.combineArea(), LAYOUT.combineWeights(0));
                // What it would have announced: the second operation, whose rows are in the combine area.
                memory(rank).setLong(LAYOUT.block(Block.HIGH_THROUGHPUT, 2, MASKED) + 8 * 5, LAYOUT.combineArea());
                int bytes = (int) (LAYOUT.combineWeights(0) - from);
                byte[] before = memory(rank).getByteArray(from, bytes);
                meet(rank);
                if (rank.number() != MASKED) {
                    rank.buffer().mask(MASKED);
                    assertTwoOfThree(
                            rank,
                            rank.buffer()
                                    .combine(CombineRequest.of(outputs, dispatched.handle())
                                            .precision(precision)
                                            .build())
                                    .out());
                }
                meet(rank);
                if (rank.number() == MASKED) {
                    assertThat(memory(rank).getByteArray(from, bytes))
                            .as("rows of the masked rank")
                            .isEqualTo(before);
                }
            });
        }
    }
}
