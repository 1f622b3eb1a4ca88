package org.ep4j.tck.oracle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.IntStream;
import org.ep4j.DataType;
import org.ep4j.EpArgumentException;
import org.ep4j.RowLayout;
import org.ep4j.testing.ForAll;
import org.ep4j.testing.IntRange;
import org.ep4j.testing.Property;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("verify")
class WorkloadTest {
    @Property(tries = 200)
    void everySelectionArrivesExactlyOnce(
            @ForAll @IntRange(min = 1, max = 6) int ranks,
            @ForAll @IntRange(min = 1, max = 30) int experts,
            @ForAll @IntRange(min = 1, max = 9) int topK,
            @ForAll @IntRange(min = 0, max = 12) int tokens,
            @ForAll @IntRange(min = 1, max = 9) int alignment,
            @ForAll long seed) {
        Workload workload = Workload.builder(ranks, 16, experts, topK)
                .tokens(tokens)
                .seed(seed)
                .dropped(0.2)
                .duplicated(0.2)
                .build();
        long selections = 0;
        long rows = 0;
        long packed = 0;
        for (int rank = 0; rank < ranks; rank++) {
            selections +=
                    Arrays.stream(workload.ids(rank)).filter(id -> id >= 0).count();
            RowTable table = RowTable.of(workload, rank, RowLayout.BY_EXPERT, alignment, Set.of());
            rows += Arrays.stream(table.sourceRank())
                    .filter(source -> source >= 0)
                    .count();
            assertThat(table.expertOffsets()[table.rowsPerExpert().length]).isEqualTo(table.rows());
            assertThat(Arrays.stream(table.expertOffsets())).allMatch(offset -> offset % alignment == 0);
            SlotTable slots = SlotTable.of(workload, rank, Set.of());
            packed += IntStream.range(0, slots.localExperts()).map(slots::count).sum();
        }
        assertThat(rows).isEqualTo(selections);
        assertThat(packed).isEqualTo(selections);
    }

    @Property(tries = 100)
    void withoutDuplicatesTheExpertsOfATokenDiffer(@ForAll long seed, @ForAll @IntRange(min = 1, max = 8) int topK) {
        for (String routing :
                new String[] {"uniform", "zipf:1.3", "grouped:4:2", "local", "to-rank:1", "to-expert:3"}) {
            Workload workload = Workload.builder(3, 16, 24, topK)
                    .tokens(5)
                    .seed(seed)
                    .routing(Routing.parse(routing))
                    .build();
            for (int token = 0; token < 5; token++) {
                int first = token * topK;
                int[] ids = Arrays.copyOfRange(workload.ids(1), first, first + topK);
                assertThat(Arrays.stream(ids).filter(id -> id >= 0).distinct().count())
                        .as(routing)
                        .isEqualTo(Arrays.stream(ids).filter(id -> id >= 0).count());
            }
        }
    }

    @Test
    void theSameSettingsGiveTheSameWorkloadAndOthersAnother() {
        Workload one = Workload.builder(2, 64, 8, 3).seed(5).build();
        Workload same = Workload.builder(2, 64, 8, 3).seed(5).build();
        Workload other = Workload.builder(2, 64, 8, 3).seed(6).build();
        short[] a = new short[64];
        short[] b = new short[64];
        one.row(1, 7, a);
        same.row(1, 7, b);
        assertThat(a).isEqualTo(b);
        assertThat(one.ids(1)).isEqualTo(same.ids(1)).isNotEqualTo(other.ids(1));
        other.row(1, 7, b);
        assertThat(a).isNotEqualTo(b);
        one.row(1, 8, b);
        assertThat(a).isNotEqualTo(b);
    }

    @Test
    void skewedRoutingIsSkewedAndUniformIsNot() {
        assertThat(busiestShare(Routing.UNIFORM)).isLessThan(0.1);
        assertThat(busiestShare(Routing.zipf(1.5))).isGreaterThan(0.15);
        assertThat(busiestShare(Routing.parse("to-expert:9"))).isEqualTo(0.25);
    }

    private static double busiestShare(Routing routing) {
        Workload workload =
                Workload.builder(1, 16, 64, 4).tokens(2000).routing(routing).build();
        int[] hits = new int[64];
        Arrays.stream(workload.ids(0)).forEach(id -> hits[id]++);
        return Arrays.stream(hits).max().orElse(0) / 8000.0;
    }

    @Test
    void allTokensGoToTheNamedRank() {
        Workload workload = Workload.builder(4, 16, 12, 3)
                .routing(Routing.parse("to-rank:2"))
                .build();
        assertThat(Arrays.stream(workload.ids(3)).map(workload::rankOf)).containsOnly(2);
    }

    @Property(tries = 50)
    void theExpertsOfATokenComeFromItsGroupsAndAllGroupsAreDrawn(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 8) int perToken) {
        int tokens = 300;
        Workload workload = Workload.builder(1, 16, 64, 8)
                .tokens(tokens)
                .seed(seed)
                .routing(Routing.grouped(8, perToken))
                .build();
        for (int token = 0; token < tokens; token++) {
            assertThat(workload.selections(0, token).distinct().count()).isEqualTo(8);
            assertThat(workload.selections(0, token).map(expert -> expert / 8).distinct())
                    .hasSizeBetween(1, perToken);
        }
        assertThat(Arrays.stream(workload.ids(0)).map(expert -> expert / 8).distinct())
                .hasSize(8);
    }

    @Test
    void anUnknownRoutingIsRefusedWithTheKnownOnes() {
        for (String text : new String[] {"random", "zipf", "zipf:x", "grouped:2", "uniform:1"}) {
            assertThatThrownBy(() -> Routing.parse(text))
                    .isInstanceOf(EpArgumentException.class)
                    .hasMessageContaining("zipf:S");
        }
    }

    @Test
    void patternsHoldWhatTheyPromise() {
        short[] row = new short[4096];
        DataPattern.BELOW_ONE.fill(3, row);
        for (short value : row) {
            assertThat(Math.abs(DataType.fromBf16(value))).isPositive().isLessThan(1f);
        }
        DataPattern.PLAIN.fill(3, row);
        for (short value : row) {
            assertThat(Math.abs(DataType.fromBf16(value))).isBetween(0x1p-8f, 512f);
        }
        DataPattern.CANCELLING.fill(3, row);
        int large = 0;
        for (short value : row) {
            large += Math.abs(DataType.fromBf16(value)) == 0x1p24f ? 1 : 0;
        }
        assertThat(large).isBetween(2500, 3500);
    }
}
