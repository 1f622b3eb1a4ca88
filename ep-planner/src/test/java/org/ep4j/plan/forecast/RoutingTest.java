package org.ep4j.plan.forecast;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.ep4j.ExpertPlacement;
import org.ep4j.plan.forecast.Exchange.Messages;
import org.ep4j.plan.forecast.Exchange.Mode;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
final class RoutingTest {
    private static Routing routing(int experts, int topK, int ranks, int groups, int chosen) {
        Exchange exchange = new Exchange(
                Mode.LOW_LATENCY, 1, experts, topK, 1, 1, Messages.PER_RANK, Messages.PER_RANK, groups, chosen);
        return new Routing(exchange, ExpertPlacement.block(experts, ranks));
    }

    @Property(tries = 200)
    void messagesOfAllRanksAddUpToTheSelections(
            @ForAll @IntRange(min = 1, max = 64) int ranks, @ForAll @IntRange(min = 1, max = 8) int topK) {
        int experts = 8 * ranks;
        Routing routing = routing(experts, topK, ranks, 1, 1);
        double selections = IntStream.range(0, ranks)
                .mapToDouble(rank -> routing.messages(rank, Messages.PER_SELECTION))
                .sum();
        double perRank = IntStream.range(0, ranks)
                .mapToDouble(rank -> routing.messages(rank, Messages.PER_RANK))
                .sum();
        assertThat(selections).isCloseTo(topK, within(1e-9));
        assertThat(perRank).isLessThanOrEqualTo(topK + 1e-9).isGreaterThanOrEqualTo(1 - 1e-9);
        assertThat(routing.reaches(IntStream.range(0, ranks).boxed().toList())).isCloseTo(1, within(1e-9));
    }

    @Test
    void drawnTokensReachRanksAsOftenAsPredicted() {
        drawnAsPredicted(64, 6, 16, 1, 1, List.of(3));
        drawnAsPredicted(64, 6, 16, 1, 1, List.of(3, 4, 5, 6));
    }

    @Test
    void drawnTokensOfGroupLimitedRoutingDoSoToo() {
        drawnAsPredicted(64, 6, 16, 8, 4, List.of(3));
        drawnAsPredicted(64, 6, 16, 8, 4, List.of(0, 1));
        drawnAsPredicted(64, 6, 16, 8, 4, List.of(0, 1, 2, 3));
    }

    /** The standard deviation of 200,000 draws is at most 0.0012. */
    private static void drawnAsPredicted(
            int experts, int topK, int ranks, int groups, int chosen, List<Integer> among) {
        ExpertPlacement placement = ExpertPlacement.block(experts, ranks);
        Random random = new Random(7);
        int draws = 200_000;
        int hits = 0;
        for (int draw = 0; draw < draws; draw++) {
            List<Integer> order =
                    new ArrayList<>(IntStream.range(0, groups).boxed().toList());
            Collections.shuffle(order, random);
            Set<Integer> allowed = new HashSet<>(order.subList(0, chosen));
            int found = 0;
            Set<Integer> picked = new HashSet<>();
            boolean hit = false;
            while (found < topK) {
                int expert = random.nextInt(experts);
                if (allowed.contains(expert / (experts / groups)) && picked.add(expert)) {
                    found++;
                    hit |= among.contains(placement.rankOf(expert));
                }
            }
            hits += hit ? 1 : 0;
        }
        assertThat(routing(experts, topK, ranks, groups, chosen).reaches(among))
                .isCloseTo((double) hits / draws, within(0.006));
    }
}
