package org.ep4j.engine.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.ep4j.CombinePrecision;
import org.ep4j.CombineRequest;
import org.ep4j.DataType;
import org.ep4j.DispatchRequest;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.LowLatencyCombineRequest;
import org.ep4j.LowLatencyDispatchRequest;
import org.ep4j.LowLatencyDispatchResult;
import org.ep4j.Tensor;
import org.ep4j.engine.gpu.GpuAgainstHost.Rank;
import org.ep4j.engine.threads.ThreadsBackendProvider;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Ranks mask one that lives and maps their memory, so they move to memory that it has never seen, which holds zeros where the old one
 * held the numbers of earlier operations.
 */
@Timeout(300)
final class MovedMemoryTest {
    private static final int RANKS = 3;
    private static final int MASKED = 2;
    private static final int TOKENS = 6;
    private static final String FIRST_OPERATION = "org.ep4j.engine.first-operation";
    private static final EpShape SHAPE = EpShape.builder(128, 5, 2)
            .maxTokens(TOKENS)
            .maxLowLatencyTokens(TOKENS)
            .build();

    @AfterEach
    void operationsBeginAtZeroAgain() {
        System.clearProperty(FIRST_OPERATION);
    }

    private static Tensor rows(Rank rank, long count, int seed, long... dims) {
        byte[] bytes = new byte[(int) (2 * count)];
        for (int i = 0; i < bytes.length; i += 2) {
            bytes[i] = (byte) (i * 31 + seed * 17 + rank.number());
            bytes[i + 1] = 0x3f;
        }
        return rank.tensor(DataType.BF16, bytes, dims);
    }

    private static Tensor ids(Rank rank, int seed) {
        int[] ids = new int[TOKENS * SHAPE.topK()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = i % 7 == 3 ? -1 : (i + 2 * (i / 2) + seed + rank.number()) % SHAPE.experts();
        }
        return rank.ints(ids, TOKENS, SHAPE.topK());
    }

    private static Tensor x(Rank rank, int seed) {
        return rows(rank, (long) TOKENS * SHAPE.hidden(), seed, TOKENS, SHAPE.hidden());
    }

    private static Tensor weights(Rank rank) {
        float[] ones = new float[TOKENS * SHAPE.topK()];
        Arrays.fill(ones, 1f);
        return rank.floats(ones, TOKENS, SHAPE.topK());
    }

    private static LowLatencyDispatchResult low(Rank rank, int seed) {
        return rank.buffer()
                .dispatch(LowLatencyDispatchRequest.of(x(rank, seed), ids(rank, seed))
                        .topkWeights(weights(rank))
                        .build());
    }

    private static Tensor combine(Rank rank, int seed, LowLatencyDispatchResult low) {
        int experts = rank.buffer().placement().localExperts(rank.number());
        long slots = SHAPE.lowLatencyRows(RANKS);
        Tensor outputs = rows(rank, experts * slots * SHAPE.hidden(), seed, experts, slots, SHAPE.hidden());
        return rank.buffer()
                .combine(LowLatencyCombineRequest.of(outputs, low.handle())
                        .precision(CombinePrecision.RANK_PARTIAL)
                        .build())
                .out();
    }

    private static void exchange(Rank rank, String name, int seed) {
        var low = low(rank, seed);
        rank.keep(name + ".ll.counts", low.counts());
        rank.keep(name + ".ll.ranges", low.layoutRanges());
        rank.keep(name + ".ll.sums", combine(rank, seed, low));
        var high = rank.buffer()
                .dispatch(DispatchRequest.of(x(rank, seed), ids(rank, seed))
                        .topkWeights(weights(rank))
                        .build());
        rank.keep(name + ".ht.sources", high.sourceTokens());
        rank.keep(name + ".ht.rows", high.x());
        long received = high.handle().rows();
        Tensor results = rows(rank, received * SHAPE.hidden(), seed, received, SHAPE.hidden());
        rank.keep(
                name + ".ht.sums",
                rank.buffer()
                        .combine(CombineRequest.of(results, high.handle()).build())
                        .out());
    }

    /** Around 2^32 some operation in fresh memory has a number whose lower half is zero. */
    @ParameterizedTest
    @ValueSource(longs = {0, (1L << 32) - 5, (1L << 32) - 4, (1L << 32) - 3, (1L << 32) - 2, Long.MAX_VALUE - 1000})
    void whatIsInFreshMemoryIsNotTakenForAMessage(long first) {
        System.setProperty(FIRST_OPERATION, Long.toString(first));
        long unmapped = ThreadsBackendProvider.unmapped();
        try (GpuAgainstHost both = new GpuAgainstHost(SHAPE, RANKS, Map.of("ep.timeout", "10s"))) {
            both.check(rank -> {
                exchange(rank, "before", 1);
                var open = low(rank, 2);
                meet(rank);
                if (rank.number() == MASKED) {
                    meet(rank);
                    assertThatThrownBy(() -> combine(rank, 2, open))
                            .asInstanceOf(InstanceOfAssertFactories.throwable(EpPeerLostException.class))
                            .extracting(EpPeerLostException::peer)
                            .isEqualTo(MASKED);
                    return;
                }
                // It has not combined what it was sent, so it may yet read and write here.
                rank.buffer().mask(MASKED);
                for (int i = 0; i < 4; i++) {
                    exchange(rank, "after " + i, 3 + i);
                }
                meet(rank);
            });
        }
        // Ranks 0 and 1 keep their old memory while rank 2 may write it, but not each other's, whose place may be
        // taken.
        assertThat(ThreadsBackendProvider.unmapped() - unmapped).isBetween(2L, 4L);
    }

    private static void meet(Rank rank) {
        rank.group().barrier(Duration.ofMinutes(2));
    }
}
