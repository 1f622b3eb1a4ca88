package org.ep4j.cli.soak;

import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.ep4j.EpShape;
import org.ep4j.ExpertPlacement;

/**
 * Sizes of a buffer, as the ranks of a round are told them.
 *
 * @param hidden H
 * @param experts E
 * @param topK K
 * @param maxTokens most tokens of a rank in high throughput
 * @param maxLowLatencyTokens most tokens of a rank in low latency
 * @param strided true where expert e lies on rank e mod R, false for blocks
 */
public record ShapeSpec(int hidden, int experts, int topK, int maxTokens, int maxLowLatencyTokens, boolean strided) {
    private static final int[] HIDDEN = {128, 256, 512, 1024, 2048};

    /** Draws one. {@code hidden} of 0 draws H, too. */
    static ShapeSpec draw(SplittableRandom random, int ranks, int hidden, int tokens) {
        int experts = ranks * (1 + random.nextInt(4)) + random.nextInt(2);
        return new ShapeSpec(
                hidden == 0 ? HIDDEN[random.nextInt(HIDDEN.length)] : hidden,
                experts,
                1 + random.nextInt(Math.min(8, experts)),
                tokens,
                Math.max(1, Math.min(tokens, 16 << random.nextInt(3))),
                random.nextBoolean());
    }

    ExpertPlacement placement(int ranks) {
        return strided
                ? ExpertPlacement.of(
                        ranks, IntStream.range(0, experts).map(e -> e % ranks).toArray())
                : ExpertPlacement.block(experts, ranks);
    }

    EpShape shape(int ranks) {
        return EpShape.builder(hidden, experts, topK)
                .maxTokens(maxTokens)
                .maxLowLatencyTokens(maxLowLatencyTokens)
                .placement(placement(ranks))
                .build();
    }
}
