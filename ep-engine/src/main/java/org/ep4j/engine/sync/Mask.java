package org.ep4j.engine.sync;

import java.util.BitSet;
import java.util.Set;
import java.util.TreeSet;

/** Ranks that operations leave out. Immutable. */
public final class Mask {
    public static final Mask NONE = new Mask(new BitSet());

    private final BitSet ranks;

    private Mask(BitSet ranks) {
        this.ranks = ranks;
    }

    public static Mask of(Set<Integer> ranks) {
        BitSet bits = new BitSet();
        ranks.forEach(bits::set);
        return new Mask(bits);
    }

    public boolean has(int rank) {
        return ranks.get(rank);
    }

    public Mask with(int rank) {
        BitSet bits = (BitSet) ranks.clone();
        bits.set(rank);
        return new Mask(bits);
    }

    /** Returns a hash of the set; ranks send it along, so that they notice when their masks differ. */
    public long digest() {
        long digest = 0;
        for (int r = ranks.nextSetBit(0); r >= 0; r = ranks.nextSetBit(r + 1)) {
            digest = digest * 0x9E3779B97F4A7C15L + r + 1;
        }
        return digest;
    }

    public Set<Integer> toSet() {
        Set<Integer> set = new TreeSet<>();
        ranks.stream().forEach(set::add);
        return set;
    }
}
