package org.ep4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.ep4j.testing.Size;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class ExpertPlacementTest {
    @Property
    void blocksAreContiguousAndDifferByOneExpertAtMost(
            @ForAll @IntRange(min = 1, max = 600) int experts, @ForAll @IntRange(min = 1, max = 70) int ranks) {
        ExpertPlacement placement = ExpertPlacement.block(experts, ranks);
        assertThat(placement.experts()).isEqualTo(experts);
        assertThat(placement.ranks()).isEqualTo(ranks);
        int[] owners = IntStream.range(0, experts).map(placement::rankOf).toArray();
        assertThat(owners).isSorted();
        int[] counts = IntStream.range(0, ranks).map(placement::localExperts).toArray();
        assertThat(Arrays.stream(counts).sum()).isEqualTo(experts);
        assertThat(Arrays.stream(counts).max().orElseThrow()
                        - Arrays.stream(counts).min().orElseThrow())
                .isLessThan(2);
        // The first ranks hold the larger blocks.
        assertThat(Arrays.stream(counts).map(c -> -c).toArray()).isSorted();
    }

    @Property
    void everyExpertIsAtItsLocalIndexOnItsRank(
            @ForAll @Size(min = 1, max = 200) List<@IntRange(max = 8) Integer> owners) {
        int[] owner = owners.stream().mapToInt(r -> r).toArray();
        ExpertPlacement placement = ExpertPlacement.of(9, owner);
        for (int expert = 0; expert < owner.length; expert++) {
            int rank = placement.rankOf(expert);
            assertThat(rank).isEqualTo(owner[expert]);
            assertThat(placement.expertsOf(rank)[placement.localIndex(expert)]).isEqualTo(expert);
        }
        int total = 0;
        for (int rank = 0; rank < 9; rank++) {
            assertThat(placement.expertsOf(rank)).isSorted().hasSize(placement.localExperts(rank));
            total += placement.localExperts(rank);
        }
        assertThat(total).isEqualTo(owner.length);
    }

    @Test
    void callersArraysAreCopied() {
        int[] owner = {0, 1, 1};
        ExpertPlacement placement = ExpertPlacement.of(2, owner);
        owner[0] = 1;
        placement.expertsOf(1)[0] = 99;
        assertThat(placement.rankOf(0)).isZero();
        assertThat(placement.expertsOf(1)).containsExactly(1, 2);
    }

    @Test
    void equalMapsAreEqualHoweverTheyWereMade() {
        assertThat(ExpertPlacement.of(2, 0, 0, 1, 1))
                .isEqualTo(ExpertPlacement.block(4, 2))
                .hasSameHashCodeAs(ExpertPlacement.block(4, 2))
                .isNotEqualTo(ExpertPlacement.block(4, 4))
                .isNotEqualTo(ExpertPlacement.of(2, 0, 1, 0, 1))
                .hasToString("block(4 experts, 2 ranks)");
        assertThat(ExpertPlacement.of(3, 2, 0)).hasToString("map[2, 0]");
    }

    @Test
    void ranksMayHaveNoExperts() {
        ExpertPlacement placement = ExpertPlacement.of(4, 3, 3);
        assertThat(placement.localExperts(0)).isZero();
        assertThat(placement.expertsOf(0)).isEmpty();
        assertThat(ExpertPlacement.block(2, 5).localExperts(4)).isZero();
    }

    @Test
    void anOwnerThatIsNotARankIsRefusedByNameValueAndLimit() {
        assertThatThrownBy(() -> ExpertPlacement.of(2, 0, 1, 2))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("owner[2] is 2, must be a rank in [0, 2)");
        assertThatThrownBy(() -> ExpertPlacement.of(2, 0, -1))
                .isInstanceOf(EpArgumentException.class)
                .hasMessageContaining("owner[1] is -1");
        assertThatThrownBy(() -> ExpertPlacement.of(0, 0)).isInstanceOf(EpArgumentException.class);
        assertThatThrownBy(() -> ExpertPlacement.of(2)).isInstanceOf(EpArgumentException.class);
        assertThatThrownBy(() -> ExpertPlacement.block(0, 2)).isInstanceOf(EpArgumentException.class);
        assertThatThrownBy(() -> ExpertPlacement.block(2, 0)).isInstanceOf(EpArgumentException.class);
    }

    @Test
    void expertsOfLostRanksGoToTheLeastLoadedOfThoseThatRemain() {
        ExpertPlacement before = ExpertPlacement.of(4, 0, 1, 1, 1, 2, 2, 3, 3);
        assertThat(before.onto(List.of(3, 0, 1))).isEqualTo(ExpertPlacement.of(3, 1, 2, 2, 2, 1, 0, 0, 0));
        assertThat(before.onto(List.of(0, 1, 2, 3))).isEqualTo(before);
    }

    @Test
    void whatRemainsMustBeDifferentRanks() {
        ExpertPlacement before = ExpertPlacement.block(8, 4);
        for (List<Integer> ranks : List.of(List.<Integer>of(), List.of(0, 0), List.of(4), List.of(-1))) {
            assertThatThrownBy(() -> before.onto(ranks))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("ranks is " + ranks);
        }
    }
}
