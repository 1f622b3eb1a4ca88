package com.example.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.ep4j.Bootstrap;
import org.ep4j.DispatchResult;
import org.ep4j.EpBuffer;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;
import org.ep4j.Recovery;
import org.ep4j.TensorArena;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A rank is lost: the others recover, serve without its experts, and then move all experts onto a group of their own. */
@Tag("verify")
final class LostRankTest {
    private static final int RANKS = 3;
    private static final int LOST = 1;
    private static final int TOKENS = 16;
    private static final int HIDDEN = 64;
    private static final int EXPERTS = 6;
    private static final int TOP_K = 3;

    @Test
    void theOthersGoOn() throws InterruptedException {
        Ranks.run(RANKS, LostRankTest::rank);
    }

    private static void rank(Bootstrap bootstrap) {
        EpConfig config = Ranks.settings().build();
        EpShape shape =
                EpShape.builder(HIDDEN, EXPERTS, TOP_K).maxTokens(TOKENS).build();
        try (EpGroup group = EpGroup.join(bootstrap, config);
                EpBuffer buffer = group.createBuffer(shape)) {
            int rank = group.rank();
            ExpertPlacement block = ExpertPlacement.block(EXPERTS, RANKS);
            assertThat(buffer.placement()).isEqualTo(block);
            assertThat(step(buffer, rank)).isEqualTo(expected(rank, block, Set.of()));
            group.barrier(Ranks.DEADLINE);
            if (rank == LOST) {
                return; // closes its buffer and its group while the others go on
            }

            try {
                fail("ended without rank %d: %s", LOST, step(buffer, rank));
            } catch (EpException e) {
                // One survivor may notice that the rank is gone, the other that the first one recovers.
                assertThat(e.recourse()).as("%s", e).isEqualTo(EpException.Recourse.RECOVER);
                if (e instanceof EpPeerLostException lost) {
                    assertThat(lost.failure().peer()).isEqualTo(LOST);
                }
                Recovery recovery = buffer.recover(Ranks.DEADLINE);
                assertThat(recovery.masked()).containsExactly(LOST);
                // Dispatch and combine of the first step on both, nothing of the second: there is nothing to undo.
                assertThat(recovery.rollbackTo()).isEqualTo(2);
                assertThat(recovery.completed(rank)).isEqualTo(2);
            }
            assertThat(buffer.maskedRanks()).containsExactly(LOST);
            assertThat(step(buffer, rank)).isEqualTo(expected(rank, block, Set.of(LOST)));

            // At a quiet point, a group of the survivors, over the bootstrap that this rank has kept; the first group
            // stays open below it.
            List<Integer> alive = IntStream.range(0, group.size())
                    .filter(one -> !buffer.maskedRanks().contains(one))
                    .boxed()
                    .toList();
            EpShape moved = buffer.shape().toBuilder()
                    .placement(buffer.placement().onto(alive))
                    .build();
            try (EpGroup next = EpGroup.join(bootstrap.subgroup("after-1", alive), config);
                    EpBuffer onto = next.createBuffer(moved)) {
                assertThat(next.size()).isEqualTo(RANKS - 1);
                // Experts 2 and 3 were on the lost rank.
                ExpertPlacement all = ExpertPlacement.of(2, 0, 0, 0, 1, 1, 1);
                assertThat(onto.placement()).isEqualTo(all);
                assertThat(step(onto, rank)).isEqualTo(expected(rank, all, Set.of()));
            }
        }
    }

    /** Dispatches this rank's tokens, lets the experts compute, and combines. */
    private static float[] step(EpBuffer buffer, int inputs) {
        try (TensorArena arena = buffer.group().device().arena()) {
            DispatchResult sent = buffer.dispatch(
                    arena.bf16(tokens(inputs), TOKENS, HIDDEN), arena.int32(ids(inputs), TOKENS, TOP_K));
            ScaledExperts.apply(buffer, sent);
            return buffer.group()
                    .device()
                    .floats(buffer.combine(sent.x(), sent.handle()).out());
        }
    }

    private static float[] tokens(int rank) {
        return Numbers.bf16(rank, TOKENS * HIDDEN);
    }

    private static int[] ids(int rank) {
        return Numbers.route(100 + rank, TOKENS, TOP_K, EXPERTS);
    }

    private static float[] expected(int rank, ExpertPlacement placement, Set<Integer> lost) {
        return ScaledExperts.expected(tokens(rank), ids(rank), TOP_K, placement, lost);
    }
}
