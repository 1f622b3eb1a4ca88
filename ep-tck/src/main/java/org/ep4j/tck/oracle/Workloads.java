package org.ep4j.tck.oracle;

import java.util.Arrays;
import org.ep4j.EpArgumentException;
import org.ep4j.ExpertPlacement;

/** Builds a {@link Workload}: same settings, same workload, in every process. Not safe for use from several threads. */
public final class Workloads {
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
    private boolean roundWeights;

    private Workloads(int ranks, int hidden, int experts, int topK) {
        this.ranks = ranks;
        this.hidden = hidden;
        this.experts = experts;
        this.topK = topK;
        this.tokens = filled(ranks, 64);
        this.owner = blockOwners(experts, ranks);
    }

    /** Starts with 64 tokens a rank, uniform routing, experts in blocks. */
    public static Workloads of(int ranks, int hidden, int experts, int topK) {
        return new Workloads(ranks, hidden, experts, topK);
    }

    /** The same number of tokens on every rank. */
    public Workloads tokens(int everyRank) {
        return tokens(filled(ranks, everyRank));
    }

    /** Tokens of each rank. */
    public Workloads tokens(int[] perRank) {
        if (perRank.length != ranks) {
            throw new EpArgumentException("tokens", perRank.length + " numbers", ranks + " numbers", "give one a rank");
        }
        this.tokens = perRank.clone();
        return this;
    }

    /** Chooses everything random. */
    public Workloads seed(long value) {
        this.seed = value;
        return this;
    }

    /** How tokens choose experts. */
    public Workloads routing(Routing how) {
        this.routing = how;
        return this;
    }

    /** Share of the selections that are -1, from 0 to 1. */
    public Workloads dropped(double share) {
        this.dropped = share;
        return this;
    }

    /** Share of the selections that repeat an earlier one of their token, from 0 to 1. */
    public Workloads duplicated(double share) {
        this.duplicated = share;
        return this;
    }

    /** What rows hold. */
    public Workloads data(DataPattern pattern) {
        this.data = pattern;
        return this;
    }

    /** Makes every weight 1, so that large values cancel exactly in a weighted sum too. */
    public Workloads unitWeights() {
        this.roundWeights = true;
        return this;
    }

    /** Places the experts. */
    public Workloads placement(ExpertPlacement map) {
        for (int e = 0; e < experts; e++) {
            owner[e] = map.rankOf(e);
        }
        return this;
    }

    /** The finished workload. */
    public Workload build() {
        Router router = new Router(routing, owner, seed);
        int[][] ids = new int[ranks][];
        int[] drawn = new int[topK];
        for (int rank = 0; rank < ranks; rank++) {
            ids[rank] = new int[tokens[rank] * topK];
            for (int token = 0; token < tokens[rank]; token++) {
                Mix random = new Mix(Mix.hash(seed, 0, rank, token));
                router.draw(rank, random, drawn);
                disturb(random, drawn);
                System.arraycopy(drawn, 0, ids[rank], token * topK, topK);
            }
        }
        return new Workload(hidden, topK, ranks, owner.clone(), ids, seed, data, roundWeights);
    }

    private void disturb(Mix random, int[] drawn) {
        for (int k = 0; k < topK; k++) {
            double point = random.nextDouble();
            if (point < dropped) {
                drawn[k] = -1;
            } else if (k > 0 && point < dropped + duplicated) {
                drawn[k] = drawn[random.nextInt(k)];
            }
        }
    }

    /** Contiguous blocks, the first ranks one longer where it does not divide. */
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

    private static int[] filled(int length, int value) {
        int[] array = new int[length];
        Arrays.fill(array, value);
        return array;
    }
}
