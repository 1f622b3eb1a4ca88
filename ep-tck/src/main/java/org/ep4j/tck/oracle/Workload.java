package org.ep4j.tck.oracle;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.ep4j.EpArgumentException;
import org.ep4j.ExpertPlacement;

/**
 * The inputs of one exchange on all ranks: the number of tokens of each rank, their experts and their contents. Routing is stored;
 * rows and weights are computed from the seed on demand. Immutable; {@link #builder} starts one.
 */
public final class Workload {
    private static final long X = 1;
    private static final long FP8 = 2;
    private static final long SCALE = 3;
    private static final long WEIGHT = 4;
    private static final long OUTPUT = 5;
    private static final long BIAS = 6;
    private static final long RETURNED = 7;

    private final int hidden;
    private final int topK;
    private final int ranks;
    private final int[] owner;
    private final int[] localIndex;
    private final int[][] ids;
    private final long seed;
    private final DataPattern data;
    private final boolean unitWeights;

    Workload(
            int hidden,
            int topK,
            int ranks,
            int[] owner,
            int[][] ids,
            long seed,
            DataPattern data,
            boolean unitWeights) {
        this.hidden = hidden;
        this.topK = topK;
        this.ranks = ranks;
        this.owner = owner;
        this.localIndex = new int[owner.length];
        int[] seen = new int[ranks];
        for (int e = 0; e < owner.length; e++) {
            localIndex[e] = seen[owner[e]]++;
        }
        this.ids = ids;
        this.seed = seed;
        this.data = data;
        this.unitWeights = unitWeights;
    }

    /** Starts with 64 tokens on each rank, uniform routing, and experts in blocks. */
    public static Builder builder(int ranks, int hidden, int experts, int topK) {
        return new Builder(ranks, hidden, experts, topK);
    }

    /** Returns a copy with the same routing and other rows and weights. */
    public Workload withData(long otherSeed) {
        return new Workload(hidden, topK, ranks, owner, ids, otherSeed, data, unitWeights);
    }

    /** Returns the seed of everything random. */
    public long seed() {
        return seed;
    }

    /** Returns R. */
    public int ranks() {
        return ranks;
    }

    /** Returns H. */
    public int hidden() {
        return hidden;
    }

    /** Returns E. */
    public int experts() {
        return owner.length;
    }

    /** Returns K. */
    public int topK() {
        return topK;
    }

    /** Returns S, the number of scales of an FP8 row. */
    public int scales() {
        return (hidden + 127) / 128;
    }

    /** Returns T of {@code rank}. */
    public int tokens(int rank) {
        return ids[rank].length / topK;
    }

    /** Returns the expert of selection {@code place}, or -1. */
    public int expert(int rank, int token, int place) {
        return ids[rank][token * topK + place];
    }

    /** Returns the experts of all selections of a token. */
    public IntStream selections(int rank, int token) {
        return Arrays.stream(ids[rank], token * topK, (token + 1) * topK).filter(expert -> expert >= 0);
    }

    /** Returns a copy of the {@code [T * K]} expert ids of {@code rank}. */
    public int[] ids(int rank) {
        return ids[rank].clone();
    }

    /** Returns the rank that holds {@code expert}. */
    public int rankOf(int expert) {
        return owner[expert];
    }

    /** Returns the index of {@code expert} among its rank's experts in ascending order. */
    public int localIndex(int expert) {
        return localIndex[expert];
    }

    /** Returns the experts of {@code rank}, ascending. */
    public int[] expertsOf(int rank) {
        return IntStream.range(0, owner.length).filter(e -> owner[e] == rank).toArray();
    }

    /** Fills {@code out} with the BF16 row of a token. */
    public void row(int rank, int token, short[] out) {
        data.fill(SplitMix64.hash(seed, X, rank, token), out);
    }

    /** Fills {@code out} with the FP8 row of a token: any codes. */
    public void fp8Row(int rank, int token, byte[] out) {
        long key = SplitMix64.hash(seed, FP8, rank, token);
        for (int h = 0; h < out.length; h++) {
            out[h] = (byte) (SplitMix64.hash(key + (h & ~7)) >>> ((h & 7) * 8));
        }
    }

    /** Fills {@code out} with the scales of an FP8 row. */
    public void fp8Scales(int rank, int token, float[] out) {
        long key = SplitMix64.hash(seed, SCALE, rank, token);
        for (int s = 0; s < out.length; s++) {
            out[s] = unit(SplitMix64.hash(key + s)) + 0x1p-10f;
        }
    }

    /** Returns the weight of a selection: above 0, at most 2, also where the id is -1. */
    public float weight(int rank, int token, int place) {
        long hash = SplitMix64.hash(seed, WEIGHT, rank, (long) token * topK + place);
        return unitWeights ? 1f : 2f - 2f * unit(hash);
    }

    /** Returns the {@code [T * K]} weights of {@code rank}. */
    public float[] weights(int rank) {
        float[] all = new float[tokens(rank) * topK];
        for (int i = 0; i < all.length; i++) {
            all[i] = weight(rank, i / topK, i % topK);
        }
        return all;
    }

    /** Returns the weight that experts return for a selection in a high-throughput combine. */
    public float returnedWeight(int rank, int token, int place) {
        return 1f + unit(SplitMix64.hash(seed, RETURNED, rank, (long) token * topK + place));
    }

    /** Fills {@code out} with a token's row of bias {@code index}. */
    public void biasRow(int index, int rank, int token, short[] out) {
        summable().fill(SplitMix64.hash(seed, BIAS + 16L * index, rank, token), out);
    }

    /** Returns expert outputs that do not depend on the received rows: random rows of this workload's pattern. */
    public OutputRows randomOutputs() {
        return (rank, token, key, out) ->
                summable().fill(SplitMix64.hash(seed, OUTPUT, rank, ((long) token << 16) + key), out);
    }

    /** Returns a pattern without NaNs, since sums of NaNs have no defined bits. */
    private DataPattern summable() {
        return data == DataPattern.ANY_BITS ? DataPattern.PLAIN : data;
    }

    /** Returns expert outputs equal to the token's own row, on every rank. */
    public OutputRows echoOutputs() {
        return (rank, token, key, out) -> row(rank, token, out);
    }

    private static float unit(long hash) {
        return (hash >>> 40) * 0x1p-24f;
    }

    /** Builds a workload: the same settings give the same one in every process. Not safe for use from several threads. */
    public static final class Builder {
        private final int ranks;
        private final int hidden;
        private final int experts;
        private final int topK;
        private int[] tokens;
        private int[] owner;
        private long seed = 1;
        private Routing routing = Routing.UNIFORM;
        private double dropped;
        private double duplicated;
        private DataPattern data = DataPattern.PLAIN;
        private boolean unitWeights;

        private Builder(int ranks, int hidden, int experts, int topK) {
            this.ranks = ranks;
            this.hidden = hidden;
            this.experts = experts;
            this.topK = topK;
            this.tokens = IntStream.range(0, ranks).map(rank -> 64).toArray();
            this.owner = blockOwners(experts, ranks);
        }

        /** Sets the same number of tokens on every rank. */
        public Builder tokens(int everyRank) {
            this.tokens = IntStream.range(0, ranks).map(rank -> everyRank).toArray();
            return this;
        }

        /** Sets the number of tokens of each rank. */
        public Builder tokens(int[] perRank) {
            if (perRank.length != ranks) {
                throw new EpArgumentException(
                        "tokens", perRank.length + " numbers", ranks + " numbers", "give one a rank");
            }
            this.tokens = perRank.clone();
            return this;
        }

        /** Sets the seed of everything random. */
        public Builder seed(long value) {
            this.seed = value;
            return this;
        }

        /** Sets the way in which tokens choose experts. */
        public Builder routing(Routing how) {
            this.routing = how;
            return this;
        }

        /** Sets the share of the selections that are -1, from 0 to 1. */
        public Builder dropped(double share) {
            this.dropped = share;
            return this;
        }

        /** Sets the share of the selections that repeat an earlier one of their token, from 0 to 1. */
        public Builder duplicated(double share) {
            this.duplicated = share;
            return this;
        }

        /** Sets the contents of rows. */
        public Builder data(DataPattern pattern) {
            this.data = pattern;
            return this;
        }

        /** Makes every weight 1, so that large values cancel exactly in a weighted sum, too. */
        public Builder unitWeights() {
            this.unitWeights = true;
            return this;
        }

        /** Sets the ranks of the experts. */
        public Builder placement(ExpertPlacement map) {
            for (int e = 0; e < experts; e++) {
                owner[e] = map.rankOf(e);
            }
            return this;
        }

        /** Draws the workload. */
        public Workload build() {
            Routing.Sampler sampler = new Routing.Sampler(routing, owner, seed);
            int[][] ids = new int[ranks][];
            int[] drawn = new int[topK];
            for (int rank = 0; rank < ranks; rank++) {
                ids[rank] = new int[tokens[rank] * topK];
                for (int token = 0; token < tokens[rank]; token++) {
                    SplitMix64 random = new SplitMix64(SplitMix64.hash(seed, 0, rank, token));
                    sampler.draw(rank, random, drawn);
                    disturb(random, drawn);
                    System.arraycopy(drawn, 0, ids[rank], token * topK, topK);
                }
            }
            return new Workload(hidden, topK, ranks, owner.clone(), ids, seed, data, unitWeights);
        }

        private void disturb(SplitMix64 random, int[] drawn) {
            for (int k = 0; k < topK; k++) {
                double point = random.nextDouble();
                if (point < dropped) {
                    drawn[k] = -1;
                } else if (k > 0 && point < dropped + duplicated) {
                    drawn[k] = drawn[random.nextInt(k)];
                }
            }
        }

        /** Assigns contiguous blocks, the first ranks one expert more where the ranks do not divide the experts. */
        private static int[] blockOwners(int experts, int ranks) {
            int[] owner = new int[experts];
            int expert = 0;
            for (int rank = 0; rank < ranks; rank++) {
                int count = experts / ranks + (rank < experts % ranks ? 1 : 0);
                for (int i = 0; i < count; i++) {
                    owner[expert++] = rank;
                }
            }
            return owner;
        }
    }
}
