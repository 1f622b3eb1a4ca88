package org.ep4j;

import java.util.Arrays;
import org.apiguardian.api.API;

/** Where a rank's tokens would go, as {@link EpBuffer#dispatchLayout} counts them. Immutable. */
@API(status = API.Status.EXPERIMENTAL, since = "0.1")
public final class DispatchLayout {
    private final int[] tokensToRank;
    private final int[] tokensToHost;
    private final int[] selections;
    private final int tokens;
    /** A bit for each rank, in words of 64, token after token. */
    private final long[] ranksOfTokens;

    private DispatchLayout(Builder builder) {
        tokensToRank = builder.tokensToRank.clone();
        tokensToHost = builder.tokensToHost.clone();
        selections = builder.selections.clone();
        tokens = builder.tokens;
        ranksOfTokens = builder.ranksOfTokens.clone();
    }

    /** Starts an empty layout. */
    public static Builder builder(int tokens, int ranks, int hosts, int experts) {
        return new Builder(tokens, ranks, hosts, experts);
    }

    /** Tokens with at least one expert on {@code rank}. */
    public int tokensToRank(int rank) {
        return at(tokensToRank, "rank", rank);
    }

    /** Tokens with at least one expert on {@code host}; hosts as {@link EpPlan#host} numbers them. */
    public int tokensToHost(int host) {
        return at(tokensToHost, "host", host);
    }

    /** Selections of {@code expert}; a token that names it twice counts twice. */
    public int selections(int expert) {
        return at(selections, "expert", expert);
    }

    /** Returns true if {@code token} has an expert on {@code rank}. */
    public boolean goesTo(int token, int rank) {
        check("token", token, tokens);
        check("rank", rank, tokensToRank.length);
        return (ranksOfTokens[word(token, rank, tokensToRank.length)] & (1L << rank)) != 0;
    }

    private static int word(int token, int rank, int ranks) {
        return token * words(ranks) + rank / Long.SIZE;
    }

    private static int words(int ranks) {
        return (ranks + Long.SIZE - 1) / Long.SIZE;
    }

    private static int at(int[] counts, String name, int index) {
        check(name, index, counts.length);
        return counts[index];
    }

    private static void check(String name, int index, int size) {
        if (index < 0 || index >= size) {
            throw new EpArgumentException(name, index, "in [0, " + size + ")", "see the sizes of the buffer's shape");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof DispatchLayout l
                && Arrays.equals(l.tokensToRank, tokensToRank)
                && Arrays.equals(l.tokensToHost, tokensToHost)
                && Arrays.equals(l.selections, selections)
                && l.tokens == tokens
                && Arrays.equals(l.ranksOfTokens, ranksOfTokens);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(selections) + Arrays.hashCode(ranksOfTokens);
    }

    @Override
    public String toString() {
        return "DispatchLayout[tokensToRank=" + Arrays.toString(tokensToRank) + ", tokensToHost="
                + Arrays.toString(tokensToHost) + ", selections=" + Arrays.toString(selections) + "]";
    }

    /** Counts the selections of one layout, tokens in ascending order. */
    public static final class Builder {
        private final int[] tokensToRank;
        private final int[] tokensToHost;
        private final int[] selections;
        private final int tokens;
        private final long[] ranksOfTokens;
        /** Last token that was counted for each host. */
        private final int[] lastOfHost;

        private Builder(int tokens, int ranks, int hosts, int experts) {
            this.tokens = tokens;
            tokensToRank = new int[ranks];
            tokensToHost = new int[hosts];
            selections = new int[experts];
            ranksOfTokens = new long[Math.multiplyExact(tokens, words(ranks))];
            lastOfHost = new int[hosts];
            Arrays.fill(lastOfHost, -1);
        }

        /**
         * Counts a selection of {@code expert}, which lies on {@code rank} of {@code host}.
         *
         * @throws EpArgumentException when a later token was counted for the host already
         */
        public Builder select(int token, int expert, int rank, int host) {
            if (token < lastOfHost[host]) {
                throw new EpArgumentException(
                        "token", token, "at least " + lastOfHost[host], "count tokens in ascending order");
            }
            selections[expert]++;
            int word = word(token, rank, tokensToRank.length);
            long bit = 1L << rank;
            if ((ranksOfTokens[word] & bit) == 0) {
                ranksOfTokens[word] |= bit;
                tokensToRank[rank]++;
            }
            if (lastOfHost[host] != token) {
                lastOfHost[host] = token;
                tokensToHost[host]++;
            }
            return this;
        }

        /** Builds the layout. */
        public DispatchLayout build() {
            return new DispatchLayout(this);
        }
    }
}
