package org.ep4j.tck.oracle;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.ep4j.CombinePrecision;
import org.ep4j.DataType;
import org.ep4j.RowLayout;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The oracle against an example that was worked out by hand. */
@Tag("verify")
class TableTest {
    /** Rank 0 holds experts 0 and 2, rank 1 holds 1 and 3. */
    private static final int[] OWNER = {0, 1, 0, 1};

    private static final int[][] IDS = {
        {0, 1, 2, /* token 1 */ 3, 3, -1, /* token 2 */ -1, -1, -1},
        {2, 0, 2, /* token 1 */ 1, 0, 3}
    };

    private static Workload example() {
        return new Workload(16, 3, 2, OWNER, IDS, 7, DataPattern.PLAIN, false);
    }

    @Test
    void byRankThereIsOneRowForEachTokenAndRank() {
        RowTable table = RowTable.of(example(), 0, RowLayout.BY_RANK, 4, Set.of());
        assertThat(table.sourceRank()).containsExactly(0, 1, 1);
        assertThat(table.sourceToken()).containsExactly(0, 0, 1);
        assertThat(table.rowsPerSource()).containsExactly(1, 2);
        assertThat(table.rowsPerExpert()).containsExactly(3, 3);
        assertThat(table.alignedPerExpert()).containsExactly(4, 4);
        assertThat(new int[] {table.localId(0, 0), table.localId(0, 1), table.localId(0, 2)})
                .containsExactly(0, -1, 1);
    }

    @Test
    void byExpertThereIsOneRowForEachSelectionInAlignedGroups() {
        RowTable table = RowTable.of(example(), 0, RowLayout.BY_EXPERT, 4, Set.of());
        assertThat(table.sourceRank()).containsExactly(0, 1, 1, -1, 0, 1, 1, -1);
        assertThat(table.sourceToken()).containsExactly(0, 0, 1, -1, 0, 0, 0, -1);
        assertThat(table.place()).containsExactly(0, 1, 1, -1, 2, 0, 2, -1);
        assertThat(table.expertOffsets()).containsExactly(0, 4, 8);
        assertThat(table.rowsPerSource()).containsExactly(2, 4);
    }

    @Test
    void duplicatesAreRowsOfTheirOwn() {
        RowTable table = RowTable.of(example(), 1, RowLayout.BY_EXPERT, 1, Set.of());
        assertThat(table.sourceRank()).containsExactly(0, 1, 0, 0, 1);
        assertThat(table.sourceToken()).containsExactly(0, 1, 1, 1, 1);
        assertThat(table.place()).containsExactly(1, 0, 0, 1, 2);
    }

    @Test
    void maskedRanksSendNothing() {
        RowTable table = RowTable.of(example(), 0, RowLayout.BY_RANK, 1, Set.of(1));
        assertThat(table.sourceRank()).containsExactly(0);
        assertThat(table.sourceToken()).containsExactly(0);
    }

    @Test
    void lowLatencyPacksByExpertWithRangesOfEachRank() {
        SlotTable table = SlotTable.of(example(), 0, Set.of());
        assertThat(table.count(0)).isEqualTo(3);
        assertThat(table.sourceToken()[1]).containsExactly(0, 0, 0);
        assertThat(table.place()[1]).containsExactly(2, 0, 2);
        assertThat(table.ranges()[0]).containsExactly(1L, 1L << 32 | 2);
        assertThat(table.ranges()[1]).containsExactly(1L, 1L << 32 | 2);
    }

    @Test
    void layoutCountsTokensAndSelections() {
        LayoutOracle layout = LayoutOracle.of(example(), 0, rank -> 0, Set.of());
        assertThat(layout.tokensToRank()).containsExactly(1, 2);
        assertThat(layout.tokensToHost()).containsExactly(2);
        assertThat(layout.selections()).containsExactly(1, 1, 1, 2);
        assertThat(layout.goesTo()).isDeepEqualTo(new boolean[][] {{true, true}, {false, true}, {false, false}});
    }

    @Test
    void combineAddsInOrderAndRoundsOnce() {
        float[] parts = {0x1p24f, 1f, -0x1p24f};
        OutputRows outputs = (rank, token, key, out) -> java.util.Arrays.fill(out, DataType.toBf16(parts[key]));
        CombineOracle oracle = new CombineOracle(example(), outputs, Set.of());
        short[] out = new short[16];
        oracle.highThroughput(0, 0, RowLayout.BY_EXPERT, CombinePrecision.EXACT, 0, out);
        // (2^24 + 1) rounds to 2^24, so nothing is left.
        assertThat(out).containsOnly((short) 0);
        oracle.highThroughput(0, 0, RowLayout.BY_EXPERT, CombinePrecision.RANK_PARTIAL, 0, out);
        // Rank 0 adds selections 0 and 2 to zero first, then rank 1's row of 1 comes.
        assertThat(out).containsOnly(DataType.toBf16(1f));
        oracle.highThroughput(0, 2, RowLayout.BY_EXPERT, CombinePrecision.EXACT, 0, out);
        assertThat(out).containsOnly((short) 0);
    }

    @Test
    void maskedRanksCountAsMissing() {
        float[] parts = {1f, 2f, 4f};
        OutputRows outputs = (rank, token, key, out) -> java.util.Arrays.fill(out, DataType.toBf16(parts[key]));
        short[] out = new short[16];
        new CombineOracle(example(), outputs, Set.of(1))
                .highThroughput(0, 0, RowLayout.BY_EXPERT, CombinePrecision.EXACT, 0, out);
        assertThat(out).containsOnly(DataType.toBf16(5f));
        assertThat(new CombineOracle(example(), outputs, Set.of(1)).returnedWeight(0, 0, 1))
                .isZero();
    }

    @Test
    void byRankRowsAreAddedInTheOrderOfFirstAppearance() {
        Workload workload = example();
        short[] one = new short[16];
        short[] two = new short[16];
        short[] expected = new short[16];
        OutputRows outputs = workload.randomOutputs();
        outputs.row(1, 1, 1, one);
        outputs.row(1, 1, 0, two);
        float[] sum = new float[16];
        for (int h = 0; h < 16; h++) {
            sum[h] = 0f + DataType.fromBf16(one[h]) + DataType.fromBf16(two[h]);
        }
        CombineOracle.round(sum, expected);
        short[] out = new short[16];
        new CombineOracle(workload, outputs, Set.of())
                .highThroughput(1, 1, RowLayout.BY_RANK, CombinePrecision.EXACT, 0, out);
        assertThat(out).isEqualTo(expected);
    }
}
