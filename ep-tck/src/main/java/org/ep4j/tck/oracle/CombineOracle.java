package org.ep4j.tck.oracle;

import java.util.Arrays;
import java.util.Set;
import org.ep4j.CombinePrecision;
import org.ep4j.RowLayout;

/** Expected results of combines, token by token. Not safe for use from several threads. */
public final class CombineOracle {
    private final Workload workload;
    private final OutputRows outputs;
    private final Set<Integer> masked;
    private final float[] sum;
    private final float[] partial;
    private final short[] row;

    /**
     * Creates an oracle for one exchange.
     *
     * @param workload the inputs
     * @param outputs rows that the experts return
     * @param masked ranks that take no part
     */
    public CombineOracle(Workload workload, OutputRows outputs, Set<Integer> masked) {
        this.workload = workload;
        this.outputs = outputs;
        this.masked = Set.copyOf(masked);
        this.sum = new float[workload.hidden()];
        this.partial = new float[workload.hidden()];
        this.row = new short[workload.hidden()];
    }

    /**
     * Computes {@code bias + rows} of high throughput, by plain FP32 additions.
     *
     * @param biases number of biases of the workload that are added first, 0 to 2
     * @param out {@code [H]} gets BF16
     */
    public void highThroughput(
            int rank, int token, RowLayout layout, CombinePrecision precision, int biases, short[] out) {
        Arrays.fill(sum, 0f);
        for (int b = 0; b < biases; b++) {
            workload.biasRow(b, rank, token, row);
            add(row, sum);
        }
        if (layout == RowLayout.BY_EXPERT && precision == CombinePrecision.EXACT) {
            for (int k = 0; k < workload.topK(); k++) {
                if (counts(rank, token, k)) {
                    outputs.row(rank, token, k, row);
                    add(row, sum);
                }
            }
        } else {
            for (int k = 0; k < workload.topK(); k++) {
                if (firstOfItsRank(rank, token, k)) {
                    int from = workload.rankOf(workload.expert(rank, token, k));
                    if (layout == RowLayout.BY_RANK) {
                        outputs.row(rank, token, from, row);
                    } else {
                        partialSum(rank, token, from, false);
                    }
                    add(row, sum);
                }
            }
        }
        round(sum, out);
    }

    /** Returns the weight of a selection that high throughput returns, 0 where the id is -1 or the rank masked. */
    public float returnedWeight(int rank, int token, int place) {
        return counts(rank, token, place) ? workload.returnedWeight(rank, token, place) : 0f;
    }

    /**
     * Computes the sum of {@code weight * row} of low latency, by fused multiply-add.
     *
     * @param out {@code [H]} gets BF16
     */
    public void lowLatency(int rank, int token, CombinePrecision precision, short[] out) {
        Arrays.fill(sum, 0f);
        for (int k = 0; k < workload.topK(); k++) {
            if (precision == CombinePrecision.EXACT && counts(rank, token, k)) {
                outputs.row(rank, token, k, row);
                multiplyAdd(workload.weight(rank, token, k), row, sum);
            } else if (precision == CombinePrecision.RANK_PARTIAL && firstOfItsRank(rank, token, k)) {
                partialSum(rank, token, workload.rankOf(workload.expert(rank, token, k)), true);
                add(row, sum);
            }
        }
        round(sum, out);
    }

    /**
     * Computes the sum of low latency and how far LogFMT rows may move each element of it. See {@link LogFmt}.
     *
     * @param value {@code [H]} gets the sum of the unrounded rows
     * @param tolerance {@code [H]} gets the largest allowed distance from it
     */
    public void lowLatencyLogFmt(int rank, int token, CombinePrecision precision, float[] value, float[] tolerance) {
        Arrays.fill(value, 0f);
        Arrays.fill(tolerance, 0f);
        float[] error = new float[workload.hidden()];
        for (int k = 0; k < workload.topK(); k++) {
            float weight;
            if (precision == CombinePrecision.EXACT && counts(rank, token, k)) {
                outputs.row(rank, token, k, row);
                weight = workload.weight(rank, token, k);
            } else if (precision == CombinePrecision.RANK_PARTIAL && firstOfItsRank(rank, token, k)) {
                partialSum(rank, token, workload.rankOf(workload.expert(rank, token, k)), true);
                weight = 1f;
            } else {
                continue;
            }
            multiplyAdd(weight, row, value);
            LogFmt.tolerance(row, error);
            for (int h = 0; h < value.length; h++) {
                tolerance[h] += weight * error[h];
            }
        }
    }

    /** Computes the rounded sum of the rows of the experts on {@code from} for a token, in {@link #row}. */
    private void partialSum(int rank, int token, int from, boolean weighted) {
        Arrays.fill(partial, 0f);
        for (int k = 0; k < workload.topK(); k++) {
            if (on(rank, token, k, from)) {
                outputs.row(rank, token, k, row);
                if (weighted) {
                    multiplyAdd(workload.weight(rank, token, k), row, partial);
                } else {
                    add(row, partial);
                }
            }
        }
        round(partial, row);
    }

    private boolean counts(int rank, int token, int place) {
        int expert = workload.expert(rank, token, place);
        return expert >= 0 && !masked.contains(workload.rankOf(expert));
    }

    private boolean on(int rank, int token, int place, int owner) {
        int expert = workload.expert(rank, token, place);
        return expert >= 0 && workload.rankOf(expert) == owner;
    }

    private boolean firstOfItsRank(int rank, int token, int place) {
        if (!counts(rank, token, place)) {
            return false;
        }
        int owner = workload.rankOf(workload.expert(rank, token, place));
        for (int k = 0; k < place; k++) {
            if (on(rank, token, k, owner)) {
                return false;
            }
        }
        return true;
    }

    private static void add(short[] row, float[] sum) {
        for (int h = 0; h < sum.length; h++) {
            sum[h] += Bf16.toFloat(row[h]);
        }
    }

    private static void multiplyAdd(float weight, short[] row, float[] sum) {
        for (int h = 0; h < sum.length; h++) {
            sum[h] = Math.fma(weight, Bf16.toFloat(row[h]), sum[h]);
        }
    }

    static void round(float[] values, short[] out) {
        for (int i = 0; i < values.length; i++) {
            out[i] = Bf16.fromFloat(values[i]);
        }
    }
}
